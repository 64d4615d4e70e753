// theme.ts - dark or light: as the system says, or as somebody has chosen
//
// A file of its own, loaded before anything is painted, so that no page is light for a moment.  What
// was chosen is an attribute of the page, which the style sheet goes by, and is kept by the browser.
//
// SPDX-License-Identifier: Apache-2.0

const KEY = "sonde-theme";

try {
	const chosen = localStorage.getItem(KEY);
	if (chosen === "dark" || chosen === "light") document.documentElement.dataset["theme"] = chosen;
} catch {
	// A browser that keeps nothing.
}
