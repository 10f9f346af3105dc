// Validates an OLM bundle as `operator-sdk bundle validate DIR --select-optional suite=operatorframework` does.
//
// It prints one line for each finding, "error" or "warning" first, and exits with status 1 if there is an error.
package main

import (
	"fmt"
	"os"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
)

func main() {
	bundle, err := manifests.GetBundleFromDir(os.Args[1])
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	validators := validation.DefaultBundleValidators.WithValidators(
		validation.OperatorHubV2Validator,
		validation.StandardCapabilitiesValidator,
		validation.StandardCategoriesValidator,
		validation.AlphaDeprecatedAPIsValidator,
		validation.GoodPracticesValidator,
	)
	failed := false
	for _, result := range validators.Validate(bundle.ObjectsToValidate()...) {
		for _, found := range result.Errors {
			failed = true
			fmt.Println("error", found.Error())
		}
		for _, found := range result.Warnings {
			fmt.Println("warning", found.Error())
		}
	}
	if failed {
		os.Exit(1)
	}
}
