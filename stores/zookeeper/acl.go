package zookeeper

import (
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"
)

// guarded is a node's ACL, or why it could not be read. Without an error the node itself could be.
type guarded struct {
	acl []zk.ACL
	err error
}

// identity is who a session is: everybody, and where it has logged in a user, as an ACL names it (NAME:DIGEST); secure: by a
// certificate, perhaps somebody else, too.
type identity struct {
	user   string
	secure bool
}

var (
	errHidden = errors.New("ZooKeeper tells the ACL only to those who may read or administer the node")
	errUnsure = errors.New("its ACL names users, addresses or certificates of which cannot be told from here whether they are this session's")
)

// may tells whether the ACL gives a right. Who may not administer a node is shown "x" in the place of digests; that the node
// could be read may prove whose they are.
func (g guarded) may(perm int32, who identity) (bool, error) {
	switch {
	case errors.Is(g.err, zk.ErrNoAuth) && perm == zk.PermRead:
		return false, nil
	case errors.Is(g.err, zk.ErrNoAuth):
		return false, errHidden
	case g.err != nil:
		return false, g.err
	case perm == zk.PermRead:
		return true, nil
	}
	var sure int32
	var doubtful []zk.ACL
	for _, e := range g.acl {
		switch who.is(e) {
		case yes:
			sure |= e.Perms
		case perhaps:
			doubtful = append(doubtful, e)
		}
	}
	if sure&perm != 0 {
		return true, nil
	}
	giving, reading := count(doubtful, perm), count(doubtful, zk.PermRead)
	switch {
	case sure&zk.PermRead == 0 && reading == 0: // and yet it was read: the server asks no ACL, or not this user
		return true, nil
	case giving == 0:
		return false, nil
	case sure&zk.PermRead == 0 && count(doubtful, zk.PermRead|perm) == reading: // one of them it is
		return true, nil
	}
	return false, errUnsure
}

// count is how many of the entries give all of these rights.
func count(acl []zk.ACL, perms int32) (n int) {
	for _, e := range acl {
		if e.Perms&perms == perms {
			n++
		}
	}
	return n
}

type certainty uint8

const (
	no certainty = iota
	perhaps
	yes
)

// is tells whether an entry of an ACL means this session.
func (who identity) is(e zk.ACL) certainty {
	name, _, _ := strings.Cut(who.user, ":")
	switch {
	case e.Scheme == "world", e.Scheme == "digest" && who.user == e.ID:
		return yes
	case e.Scheme == "digest" && who.user != "" && e.ID == name+":x":
		return perhaps
	case e.Scheme == "ip", e.Scheme == "x509" && who.secure:
		return perhaps
	}
	return no
}
