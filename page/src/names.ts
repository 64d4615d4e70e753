// names.ts - from a name as a page shows it to a regular expression that finds it
//
// Pages show what cannot be seen as something that can (src/render/xml.h), and a graph has no quotes
// and backslashes: what is shown may stand for either.
//
// SPDX-License-Identifier: Apache-2.0

const LONGEST = 900; // characters: an address holds only so much, and longer names may have been cut

const SPECIAL = /<U\+([0-9A-F]{4,6})>|[\u2400-\u2421\u2033\u2216\ufffd]|[\\.+*?()|[\]{}^$]/g;

/** As text in a regular expression. */
export function escaped(name: string): string {
	return name.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&");
}

/** Text of several lines in which no mark turns the direction of writing or hides something. */
export function visible(text: string): string {
	return text.replace(/[\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
		(c) => `<U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}>`);
}

function original(shown: string, number: string | undefined): string {
	const code = shown.charCodeAt(0);

	if (number !== undefined) return `(${escaped(shown)}|\\x{${number}})`;
	if (code === 0x2033) return `[${shown}"]`;
	if (code === 0x2216) return `[${shown}\\\\]`;
	if (code === 0xfffd) return ".";
	if (code === 0x2421) return `[${shown}\\x7f]`;
	if (code >= 0x2400 && code < 0x2421) return `[${shown}\\x${(code - 0x2400).toString(16).padStart(2, "0")}]`;
	return `\\${shown}`;
}

/** Matches the name that is shown like this; peek puts a line number behind it. */
export function exactly(shown: string): string {
	const name = shown.slice(0, LONGEST).replace(SPECIAL, original);

	return `^${name}${shown.length > LONGEST ? "" : "( |$)"}`;
}
