// numbers.ts - numbers as the reports print them
//
// SPDX-License-Identifier: Apache-2.0

/** Two digits, as C's "%.2g" prints them. */
function twoDigits(v: number): string {
	const [digits = "0", exponent = "0"] = v.toExponential(1).split("e");
	const e = Number(exponent);

	if (v !== 0 && e < -4) return `${Number(digits)}e-${String(-e).padStart(2, "0")}`;
	return String(Number(v.toPrecision(2)));
}

/** The share of 'value' in 'total', without a sign: "100%", "12.50%", "0.017%". */
export function percent(value: number, total: number): string {
	const share = total === 0 ? 0 : Math.abs(value / total) * 100;

	if (share >= 99.95 && share <= 100.05) return "100%";
	return `${share >= 1 ? share.toFixed(2) : twoDigits(share)}%`;
}

/** "12,345" */
export function count(v: number): string {
	return String(v).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** "1 frame", "12 frames" */
export function counted(v: number, noun: string): string {
	return `${count(v)} ${noun}${v === 1 ? "" : "s"}`;
}
