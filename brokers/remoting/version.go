package remoting

import "fmt"

// Version numbers of releases from which on brokers behave otherwise. Servers put theirs into every answer.
const (
	Version5_0_0 = 413 // setZeroIfNotFound is understood; deleting a topic deletes its positions
	Version5_1_0 = 433 // resets may be kept by the broker
	Version5_1_1 = 435 // a search by time answers the first message at or after it
)

// VersionName is a release, such as 5.5.0, of the number that servers and clients give.
func VersionName(n int) string {
	const v4_0_0 = 213
	if n < v4_0_0 {
		return "before 4.0"
	}
	k := (n - v4_0_0) / 2
	s := fmt.Sprintf("%d.%d.%d", 4+k/100, k/10%10, k%10)
	if n%2 == 0 {
		return fmt.Sprintf("%d.%d.%d-SNAPSHOT", 4+(k+1)/100, (k+1)/10%10, (k+1)%10)
	}
	return s
}
