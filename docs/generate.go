// Package docs holds the user documentation.
package docs

//go:generate go run ../internal/gendocs .
