"""RSA signatures (RS256) for tokens of service accounts, and how a new key is made.

RSA is written here with Python's integers, because a token server needs forty lines of it, and the
package cryptography is not a dependency.  It is slower and not protected against attackers who
measure time; this server is for development and tests.  A key belongs to one server: ``new_key``
makes one from random bits that the caller passes in, ``fixed_key`` is for servers whose answers must
be the same in each run.
"""

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from myrmidon.api.objects.accessors import Json

ALGORITHM = "RS256"
_EXPONENT = 65537
_PRIME_BITS = 1024
_ROUNDS = 8  # of Miller and Rabin, for random candidates of this size
_SHA256_PREFIX = bytes.fromhex("3031300d060960864801650304020105000420")
_SMALL_PRIMES = tuple(
    number for number in range(3, 2000, 2) if all(number % each for each in range(3, number, 2))
)


def encode_part(content: bytes) -> str:
    """Return bytes in the base64 of tokens, without padding."""
    return urlsafe_b64encode(content).decode().rstrip("=")


def decode_part(text: str) -> bytes:
    """Return the bytes of a part of a token; raise ``ValueError``."""
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass(frozen=True)
class SigningKey:
    """An RSA key, given by its two primes."""

    p: int
    q: int

    @cached_property
    def modulus(self) -> int:
        """The public modulus."""
        return self.p * self.q

    @cached_property
    def _private(self) -> int:
        return pow(_EXPONENT, -1, (self.p - 1) * (self.q - 1))

    @property
    def _size(self) -> int:
        return (self.modulus.bit_length() + 7) // 8

    @cached_property
    def key_id(self) -> str:
        """The name of the key in the header of a token."""
        return encode_part(hashlib.sha256(self.modulus.to_bytes(self._size)).digest())

    def public(self) -> Json:
        """Return the public key as a JSON Web Key."""
        return {
            "use": "sig",
            "kty": "RSA",
            "kid": self.key_id,
            "alg": ALGORITHM,
            "n": encode_part(self.modulus.to_bytes(self._size)),
            "e": encode_part(_EXPONENT.to_bytes(3)),
        }

    def sign(self, content: bytes) -> bytes:
        """Return the signature of some content."""
        return pow(self._padded(content), self._private, self.modulus).to_bytes(self._size)

    def is_signature(self, signature: bytes, content: bytes) -> bool:
        """Whether a signature was made with this key, for this content."""
        if len(signature) != self._size:
            return False
        found = pow(int.from_bytes(signature), _EXPONENT, self.modulus)
        return found == self._padded(content)

    def _padded(self, content: bytes) -> int:
        digest = _SHA256_PREFIX + hashlib.sha256(content).digest()
        padding = b"\xff" * (self._size - len(digest) - 3)
        return int.from_bytes(b"\x00\x01" + padding + b"\x00" + digest)


def new_key(random_bits: Callable[[int], int]) -> SigningKey:
    """Return a key of 2048 bits; ``random_bits`` returns a number of so many random bits."""
    p = _prime(random_bits)
    q = _prime(random_bits)
    return SigningKey(p, q) if p != q else new_key(random_bits)


def _prime(random_bits: Callable[[int], int]) -> int:
    while True:
        # Odd, and with both highest bits set, so that the product of two has twice the bits.
        candidate = random_bits(_PRIME_BITS) | 1 | 3 << (_PRIME_BITS - 2)
        if (
            all(candidate % each for each in _SMALL_PRIMES)
            and candidate % _EXPONENT != 1
            and _is_prime(candidate, random_bits)
        ):
            return candidate


def _is_prime(number: int, random_bits: Callable[[int], int]) -> bool:
    """Whether a large odd number is prime, by the test of Miller and Rabin."""
    odd, twos = number - 1, 0
    while not odd % 2:
        odd, twos = odd // 2, twos + 1
    for _ in range(_ROUNDS):
        power = pow(2 + random_bits(_PRIME_BITS) % (number - 3), odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = pow(power, 2, number)
            if power == number - 1:
                break
        else:
            return False
    return True


_FIXED = SigningKey(
    int(
        "fa529ba3fe3bfada7cf20724d953ee261d87cec31f7296ab7961fd925d39d0a89a2ef80f58ee8571f4998d7c40"
        "93f6dea268aa872607679d6050914a9d33a01c353c631cdfd43f371200339d068739fa9d1de2a05d158a2ff2ee"
        "4e4519f9919c895fd7b326b94c7f9118bb16000f49c81a358ca00d75985d99c94309570dc195",
        16,
    ),
    int(
        "c79dbc121f04a6ffc272f5a7aa17c57cc61c96dbd8d4250d89df5e79bf7b6c6c3c2496ebac9261f1e429c87c9e"
        "cc7b5f75ff199d6ab6114f2207c6c03bf449fd2c564d56726c2c95f8dca309b5b39023fd09e37c7f9c13216bca"
        "9b3f18af266c3555d6ae15866ffb9fe5e39943cfeadf1279688cfce205cd1aefca62e22b64a7",
        16,
    ),
)


def fixed_key() -> SigningKey:
    """Return the key of servers whose answers are the same in each run: anybody can sign with it."""
    return _FIXED
