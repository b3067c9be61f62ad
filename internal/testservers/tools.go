package testservers

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers/wire"
)

// Output is what a command-line tool printed, and its exit code.
type Output struct {
	Stdout, Stderr string
	Code           int
}

// toolTimeout bounds one run of a tool; a JVM on a loaded machine is slow.
const toolTimeout = 2 * time.Minute

// KafkaTool runs a main class of Kafka's own command-line tools (4.4), such as
// org.apache.kafka.tools.consumer.group.ConsumerGroupCommand. A non-zero exit
// code is no failure: it stands in Output.
func KafkaTool(t testing.TB, class string, args ...string) Output {
	t.Helper()
	skipByChoice(t, "kafka44")
	conn := dial(t, "kafka44")
	defer conn.Close()
	reply, err := conn.Ask(wire.Request{Op: wire.Jars, Name: "kafka44", Test: t.Name()})
	if err != nil {
		t.Fatalf("test servers: asking for Kafka's tools: %v", err)
	}
	if reply.Error != "" {
		t.Fatalf("test servers: Kafka's tools cannot be had: %s", reply.Error)
	}
	java := []string{"-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", reply.Text, class}
	return runTool(t, "java", append(java, args...)...)
}

// Kcat runs kcat, a client by librdkafka.
func Kcat(t testing.TB, args ...string) Output {
	t.Helper()
	skipByChoice(t, "kafka44")
	return runTool(t, "kcat", args...)
}

func runTool(t testing.TB, name string, args ...string) Output {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), toolTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("test servers: running %s: %v", name, err)
	}
	if ctx.Err() != nil {
		t.Fatalf("test servers: %s did not end within %v\n%s%s", name, toolTimeout, &stdout, &stderr)
	}
	return Output{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
}
