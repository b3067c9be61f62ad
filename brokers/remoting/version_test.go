package remoting

import "testing"

func TestVersionName(t *testing.T) {
	for n, want := range map[int]string{
		317: "4.5.2", 333: "4.6.0", 399: "4.9.3", 401: "4.9.4", 407: "4.9.7", 413: "5.0.0", 441: "5.1.4", 453: "5.2.0", 479: "5.3.3",
		493: "5.4.0", 513: "5.5.0", 512: "5.5.0-SNAPSHOT", 0: "before 4.0", 100: "before 4.0",
	} {
		if got := VersionName(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}
