// Encrypts and decrypts in memory, and reads a range of a file that the command paraes encrypted.
// Build and run:
//
//	paraes keygen -o my.key
//	seq 100000 > numbers.txt
//	paraes encrypt -q -k my.key numbers.txt
//	go build -o paraes_example ./example
//	./paraes_example my.key numbers.txt.paes
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"example.org/paraes"
)

func messages() error {
	secret, err := paraes.RandomSecret()
	if err != nil {
		return err
	}
	defer secret.Close()
	other, err := paraes.RandomSecret()
	if err != nil {
		return err
	}
	defer other.Close()

	sealed, err := secret.Seal([]byte("attack at dawn"))
	if err != nil {
		return err
	}
	plain, err := secret.Open(sealed)
	if err != nil {
		return err
	}
	fmt.Printf("%d bytes, sealed %d\n", len(plain), len(sealed))
	fmt.Printf("as it was: %s\n", plain)
	if _, err = other.Open(sealed); !errors.Is(err, paraes.WrongKey) {
		return err
	}
	fmt.Println("wrong key:", err)
	sealed[len(sealed)-1] ^= 1
	if _, err = secret.Open(sealed); !errors.Is(err, paraes.IntegrityError) {
		return err
	}
	fmt.Println("damaged:", err)
	return nil
}

func printRange(keyFile, file string) error {
	secret, err := paraes.SecretFromKeyFile(keyFile)
	if err != nil {
		return err
	}
	defer secret.Close()
	reader, err := paraes.OpenFile(file, secret)
	if err != nil {
		return err
	}
	defer reader.Close()
	fmt.Printf("%d bytes; from byte 500000 on:\n", reader.Size())
	_, err = io.Copy(os.Stdout, io.NewSectionReader(reader, 500000, 17))
	return err
}

func run() error {
	if err := messages(); err != nil {
		return err
	}
	return printRange(os.Args[1], os.Args[2])
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintf(os.Stderr, "usage: %s KEY-FILE FILE\n", os.Args[0])
		os.Exit(2)
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status := 1
		var failure *paraes.Error
		if errors.As(err, &failure) {
			status = failure.ExitStatus()
		}
		os.Exit(status)
	}
}
