"""The arguments of `myrmidon run` for webhooks, from which it makes ``WebhookOptions``."""

import argparse


def add_webhook_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare where webhooks are served, under which names, and with which certificate."""
    parser.add_argument(
        "--webhook-addr",
        default="",
        metavar="ADDR",
        help="where webhooks are served by HTTPS, such as :9443 (default: not at all)",
    )
    parser.add_argument(
        "--webhook-name",
        default="",
        metavar="NAME",
        help="name of the webhook configurations (default: the name of the first controller)",
    )
    parser.add_argument(
        "--webhook-service",
        default="",
        metavar="NAME",
        help="Service through which the API server reaches the webhooks (default: NAME-webhooks, with "
        "the name of the configurations)",
    )
    parser.add_argument(
        "--webhook-certs",
        default="",
        metavar="DIR",
        help="folder with tls.crt and tls.key (default: the program makes and rotates its own)",
    )
    parser.add_argument(
        "--webhook-url",
        default="",
        metavar="URL",
        help="serve webhooks from here, at https://HOST:PORT as the API server reaches it",
    )
