// Verifies a log from its tiles by Go's own packages: readTiles PREFIX KEY-FILE OLDER-CHECKPOINT
// It prints how many entries are proved to be in the log, and the size that is proved to be its beginning.
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type tiles struct{ prefix string }

func (tiles) Height() int                     { return 8 }
func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}
func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var all [][]byte
	for _, tile := range wanted {
		all = append(all, get(t.prefix+strings.Replace(tile.Path(), "tile/8/", "tile/", 1)))
	}
	return all, nil
}

func main() {
	prefix := os.Args[1]
	verifier, err := note.NewVerifier(strings.TrimSpace(string(must(os.ReadFile(os.Args[2])))))
	check(err)
	older := open(must(os.ReadFile(os.Args[3])), verifier)
	tree := open(get(prefix+"checkpoint"), verifier)
	hashes := tlog.TileHashReader(tree, tiles{prefix})

	entries := int64(0)
	for entries < tree.N {
		tile := tlog.Tile{H: 8, L: 0, N: entries / 256, W: 256}
		if tree.N-entries < 256 {
			tile.W = int(tree.N - entries)
		}
		path := strings.Replace(tile.Path(), "tile/8/0/", "tile/entries/", 1)
		for bundle := get(prefix + path); len(bundle) > 0; entries++ {
			end := 2 + int(binary.BigEndian.Uint16(bundle))
			proof, err := tlog.ProveRecord(tree.N, entries, hashes)
			check(err)
			check(tlog.CheckRecord(proof, tree.N, tree.Hash, entries, tlog.RecordHash(bundle[2:end])))
			bundle = bundle[end:]
		}
	}
	proof, err := tlog.ProveTree(tree.N, older.N, hashes)
	check(err)
	check(tlog.CheckTree(proof, tree.N, tree.Hash, older.N, older.Hash))
	fmt.Println(entries, older.N)
}

func open(signed []byte, verifier note.Verifier) tlog.Tree {
	opened, err := note.Open(signed, note.VerifierList(verifier))
	check(err)
	lines := strings.Split(opened.Text, "\n")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	check(err)
	root, err := tlog.ParseHash(lines[2])
	check(err)
	return tlog.Tree{N: size, Hash: root}
}

func get(url string) []byte {
	response, err := http.Get(url)
	check(err)
	defer response.Body.Close()
	if response.StatusCode != 200 {
		log.Fatal(url, " answered ", response.Status)
	}
	return must(io.ReadAll(response.Body))
}

func must(bytes []byte, err error) []byte {
	check(err)
	return bytes
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
