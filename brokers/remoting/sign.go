package remoting

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"maps"
	"slices"
)

// Credentials sign requests: an access key of 4.x, or a user name and password of 5.x.
type Credentials struct {
	AccessKey, SecretKey string
	Token                string // security token; usually ""
}

// sign adds the fields that prove who asks. The values alone are signed, in the order of their names, with the body.
func (k *Credentials) sign(c *Command) {
	ext := maps.Clone(c.Ext)
	if ext == nil {
		ext = map[string]string{}
	}
	ext["AccessKey"] = k.AccessKey
	if k.Token != "" {
		ext["SecurityToken"] = k.Token
	}
	ext["Signature"] = Signature(k.SecretKey, ext, c.Body)
	c.Ext = ext
}

// Signature is what a server expects for these fields and this body; a field named Signature is left out.
func Signature(secret string, ext map[string]string, body []byte) string {
	mac := hmac.New(sha1.New, []byte(secret))
	for _, name := range slices.Sorted(maps.Keys(ext)) {
		if name != "Signature" {
			mac.Write([]byte(ext[name]))
		}
	}
	mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
