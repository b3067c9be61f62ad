package remoting

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// conn is one connection with any number of requests on the way.
type conn struct {
	nc       net.Conn
	limit    int
	writing  sync.Mutex
	done     chan struct{} // closed when the reader has ended
	mu       sync.Mutex
	waiting  map[int32]chan *Command
	last     int32
	answered bool  // something came back on it
	err      error // why it ended; set before done is closed
}

var errClosed = errors.New("the connection was closed")

func newConn(nc net.Conn, limit int) *conn {
	c := &conn{nc: nc, limit: limit, done: make(chan struct{}), waiting: map[int32]chan *Command{}}
	go c.read()
	return c
}

// read hands answers to whoever waits for them. Requests of the server and answers that nobody waits for any more are dropped.
func (c *conn) read() {
	r := bufio.NewReaderSize(c.nc, chunk)
	for {
		cmd, err := ReadCommand(r, c.limit)
		if err != nil {
			c.end(err)
			return
		}
		if cmd.Flag&FlagAnswer == 0 {
			continue
		}
		c.mu.Lock()
		c.answered = true
		ch := c.waiting[cmd.Opaque]
		delete(c.waiting, cmd.Opaque)
		c.mu.Unlock()
		if ch != nil {
			ch <- cmd // has room for it
		}
	}
}

func (c *conn) end(err error) {
	_ = c.nc.Close()
	c.mu.Lock()
	if c.err == nil {
		c.err = err
	}
	c.mu.Unlock()
	close(c.done)
}

// close ends the connection and waits for its reader.
func (c *conn) close() {
	c.mu.Lock()
	if c.err == nil {
		c.err = errClosed
	}
	c.mu.Unlock()
	_ = c.nc.Close()
	<-c.done
}

func (c *conn) alive() bool {
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// lost is whether the connection ever answered, and why it ended.
func (c *conn) lost() (answered bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answered, c.err
}

// ask sends the command and waits for its answer until ctx is done.
func (c *conn) ask(ctx context.Context, cmd *Command) (*Command, Stage, error) {
	ch := make(chan *Command, 1)
	c.mu.Lock()
	c.last++
	cmd.Opaque = c.last
	c.waiting[cmd.Opaque] = ch
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, cmd.Opaque)
		c.mu.Unlock()
	}()
	frame, err := cmd.Append(nil)
	if err != nil {
		return nil, StageConnect, err // nothing was sent
	}
	if err := c.write(ctx, frame); err != nil {
		return nil, StageSend, err
	}
	select {
	case a := <-ch:
		return a, StageAnswer, nil
	case <-ctx.Done():
		return nil, StageAnswer, context.Cause(ctx)
	case <-c.done:
		select {
		case a := <-ch: // it came just before the end
			return a, StageAnswer, nil
		default:
		}
		_, err := c.lost()
		return nil, StageAnswer, err
	}
}

// write sends one whole frame. A frame that was cut short ends the connection: nothing could follow it.
func (c *conn) write(ctx context.Context, frame []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	var deadline time.Time
	if d, ok := ctx.Deadline(); ok {
		deadline = d
	}
	err := c.nc.SetWriteDeadline(deadline)
	if err == nil {
		_, err = c.nc.Write(frame)
	}
	if err != nil {
		_ = c.nc.Close()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = context.DeadlineExceeded
		}
	}
	return err
}

// isLost tells the end of a connection from a server that does not answer.
func isLost(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errClosed) ||
		errors.Is(err, net.ErrClosed) || errors.As(err, &op) && !op.Timeout()
}
