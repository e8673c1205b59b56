// Opens a checkpoint by the key of its log and the key of a witness: openCosigned LOG-KEY WITNESS-KEY CHECKPOINT
// The package knows the signatures of logs. Cosignatures (C2SP tlog-cosignature) are the ten lines of cosigner.
package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

type cosigner struct {
	name string
	hash uint32
	key  []byte
}

func (c cosigner) Name() string    { return c.name }
func (c cosigner) KeyHash() uint32 { return c.hash }
func (c cosigner) Verify(body, signature []byte) bool {
	time := binary.BigEndian.Uint64(signature)
	signed := fmt.Sprintf("cosignature/v1\ntime %d\n%s", time, body)
	return ed25519.Verify(c.key, []byte(signed), signature[8:])
}

func main() {
	verifier, err := note.NewVerifier(read(1))
	check(err)
	parts := strings.SplitN(read(2), "+", 3)
	hash, err := strconv.ParseUint(parts[1], 16, 32)
	check(err)
	key, err := base64.StdEncoding.DecodeString(parts[2])
	check(err)
	witness := cosigner{parts[0], uint32(hash), key[1:]}
	checkpoint, err := os.ReadFile(os.Args[3])
	check(err)
	opened, err := note.Open(checkpoint, note.VerifierList(verifier, witness))
	check(err)
	fmt.Println(len(opened.Sigs), len(opened.UnverifiedSigs), strings.Split(opened.Text, "\n")[1])
}

func read(argument int) string {
	bytes, err := os.ReadFile(os.Args[argument])
	check(err)
	return strings.TrimSpace(string(bytes))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
