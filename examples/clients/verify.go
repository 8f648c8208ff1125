// $ go run verify.go < body.json
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

func isOurs(body []byte, header, secret string) bool {
	rest, _ := strings.CutPrefix(header, "t=")
	sentAt, signatures, _ := strings.Cut(rest, ",")
	seconds, err := strconv.ParseInt(sentAt, 10, 64)
	if age := time.Since(time.Unix(seconds, 0)).Abs(); err != nil || age > 300*time.Second {
		return false
	}
	wanted := hmac.New(sha256.New, []byte(secret))
	wanted.Write(append([]byte(sentAt+"."), body...))
	for _, signature := range strings.Split(signatures, ",") {
		sent, _ := hex.DecodeString(strings.TrimPrefix(signature, "v1="))
		if hmac.Equal(sent, wanted.Sum(nil)) {
			return true
		}
	}
	return false
}

func main() {
	body, _ := io.ReadAll(os.Stdin)
	fmt.Println(isOurs(body, os.Getenv("SIGNATURE"), os.Getenv("SECRET")))
}
