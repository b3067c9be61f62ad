// Package repair is everything between a survey and a verified write that can be undone.
//
// Make, MakeCopy, MakeDelete and MakeUndo turn what was measured into a Plan; Renew looks at a plan with today's eyes; Check
// and Ask say what speaks against it and what a person must agree to. All of these are pure. Run.Apply writes: journal first,
// then the store, then a second look. Nothing here prints, asks, or reads a clock.
package repair
