/*
 * flame.js - search, zoom, tooltips and the keyboard for a flame graph
 *
 * Runs inside the picture.  Everything it knows it reads off the frames, which come callers first:
 * where they are, how wide, and their titles, whose first line is the name.  It sets attributes
 * only, so a policy against inline styles does not hurt it.  ES2017, no libraries, no requests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
(function () {
	'use strict';

	const SVG = 'http://www.w3.org/2000/svg';
	const XHTML = 'http://www.w3.org/1999/xhtml';
	const PADDING = 4, GAP = 0.6, GAP_FROM = 2, NARROWEST = 0.25, BOX = 260, TIP = 620;

	const script = document.currentScript;
	const svg = (script && script.ownerSVGElement) || document.documentElement;
	const group = svg.querySelector('.frames');
	const summary = svg.querySelector('.summary');
	const paper = svg.querySelector('.paper');
	const height = Number(svg.getAttribute('height'));
	const margin = Number(summary.getAttribute('x'));
	const summaryText = summary.textContent;

	let frames = [], zoomed = 0, current = 0, inner = 0, pattern = null;

	// ------------------------------------------------------------------ elements

	function set(element, attributes) {
		for (const name of Object.keys(attributes))
			element.setAttribute(name, attributes[name]);
		return element;
	}

	function make(name, attributes, parent) {
		return parent.appendChild(set(document.createElementNS(SVG, name), attributes));
	}

	function percent(share) {
		const digits = share >= 0.9995 || share === 0 ? 0 : share >= 0.1 ? 1 : share >= 0.001 ? 2 : 3;

		return (100 * share).toFixed(digits) + '%';
	}

	// ------------------------------------------------------------------ text that fits

	const widths = new Map();
	const ruler = make('text', { 'font-size': 12, visibility: 'hidden', 'aria-hidden': 'true' }, svg);

	function widthOf(character) {
		let width = widths.get(character);

		if (width === undefined) {
			// Between letters: a blank alone would be collapsed.
			ruler.textContent = 'x' + character + 'x';
			width = ruler.getComputedTextLength();
			ruler.textContent = 'xx';
			width -= ruler.getComputedTextLength();
			widths.set(character, width);
		}
		return width;
	}

	function fit(text, room) {
		const dots = widthOf('\u2026');
		let width = 0, at = 0, fits = 0;

		for (const character of text) {
			width += widthOf(character);
			if (width > room)
				return fits < 3 ? '' : text.slice(0, fits) + '\u2026';
			at += character.length;
			if (width + dots <= room)
				fits = at;
		}
		return text;
	}

	// ------------------------------------------------------------------ frames

	function isCut(text) {
		return !text || text.textContent.endsWith('\u2026');
	}

	function readFrame(g, index) {
		const rect = g.querySelector('rect'), text = g.querySelector('text');
		const title = g.querySelector('title');
		const about = title.textContent;
		const name = about.slice(0, about.indexOf('\n'));

		// Browsers would show the title as a second tooltip.
		g.removeChild(title);
		set(g, { role: 'treeitem', tabindex: -1, 'aria-label': about.replace(/\n/g, ', ') });
		return {
			g, rect, text, about, name, index,
			label: g.getAttribute('data-label') || (isCut(text) ? name : text.textContent),
			inlined: g.hasAttribute('data-inlined'),
			fill: rect.getAttribute('fill'),
			x: Number(rect.getAttribute('x')),
			width: Number(g.getAttribute('data-width') || rect.getAttribute('width')),
			y: Number(rect.getAttribute('y')),
			caller: -1, end: index + 1, level: 0, shown: true, matches: false,
		};
	}

	// Frames come depth first, so a frame's caller is the last one that started further up.
	function readFrames() {
		const path = [];

		frames = Array.from(group.children, readFrame);
		for (const f of frames) {
			while (path.length && path[path.length - 1].y >= f.y)
				path.pop();
			if (path.length)
				f.caller = path[path.length - 1].index;
			f.level = path.length;
			f.g.setAttribute('aria-level', f.level + 1);
			path.push(f);
			for (const above of path)
				above.end = f.index + 1;
		}
		frames.forEach((f, i) => { f.g.flame = i; });
	}

	function callers(index) {
		const list = [];

		for (let i = frames[index].caller; i >= 0; i = frames[i].caller)
			list.unshift(i);
		return list;
	}

	function show(f, shown) {
		if (f.shown === shown)
			return;
		f.shown = shown;
		if (shown)
			f.g.removeAttribute('display');
		else
			f.g.setAttribute('display', 'none');
	}

	function place(f, x, width) {
		const label = fit(f.label, width - 2 * PADDING);

		set(f.rect, { x: x, width: width > GAP_FROM ? width - GAP : width });
		if (label && !f.text) {
			f.text = make('text', { y: f.y + 13 }, f.g);
			if (f.inlined)
				f.text.setAttribute('font-style', 'italic');
		}
		if (f.text) {
			f.text.setAttribute('x', x + PADDING);
			f.text.textContent = label;
		}
	}

	// Half way to white, on any paper.
	function faded(colour) {
		return '#' + colour.slice(1).replace(/../g, (hex) =>
			Math.round((parseInt(hex, 16) + 255) / 2).toString(16));
	}

	function paint(f, isCaller) {
		const out = pattern && !f.matches;

		f.g.setAttribute('class', out ? 'out' : isCaller ? 'up' : '');
		f.rect.setAttribute('fill', out ? '#e2e4e7' : isCaller ? faded(f.fill) : f.fill);
		if (f.text)
			f.text.setAttribute('fill', out ? '#555b63' : '#16191d');
		if (pattern && f.matches)
			f.rect.setAttribute('stroke', '#16191d');
		else
			f.rect.removeAttribute('stroke');
	}

	function layout() {
		const root = frames[zoomed], scale = inner / root.width;
		const above = new Set(callers(zoomed));

		for (const f of frames) {
			const isCaller = above.has(f.index);
			const isBelow = f.index >= zoomed && f.index < root.end;
			const width = isCaller ? inner : f.width * scale;

			show(f, isCaller || (isBelow && width >= NARROWEST));
			if (!f.shown)
				continue;
			place(f, isCaller ? 0 : (f.x - root.x) * scale, width);
			paint(f, isCaller);
		}
	}

	// ------------------------------------------------------------------ zoom

	// A word to click, with the same meaning for the keyboard.
	function link(text, name, act) {
		const span = make('tspan', { class: 'link', role: 'button', tabindex: 0,
			'aria-label': name, fill: '#0b5cad' }, summary);

		span.textContent = text;
		span.addEventListener('click', act);
		span.addEventListener('keydown', (event) => {
			if (event.key === 'Enter' || event.key === ' ') {
				event.preventDefault();
				event.stopPropagation();
				act();
			}
		});
	}

	function plain(text) {
		make('tspan', {}, summary).textContent = text;
	}

	function short(index) {
		return frames[index].label.length > 30 ? frames[index].label.slice(0, 29) + '\u2026'
			: frames[index].label;
	}

	// "Reset zoom   root > main > ... > caller > frame (12%)"
	function breadcrumb() {
		const path = callers(zoomed);
		const tail = path.length > 4 ? path.slice(-2) : path.slice(1);

		summary.textContent = zoomed ? '' : summaryText;
		if (!zoomed)
			return;
		link('Reset zoom', 'Reset zoom', () => zoom(0));
		plain(' \u00a0 ');
		link(short(0), 'Zoom to ' + frames[0].name, () => zoom(0));
		if (path.length > 4)
			plain(' \u203a \u2026');
		for (const i of tail) {
			plain(' \u203a ');
			link(short(i), 'Zoom to ' + frames[i].name, () => zoom(i));
		}
		plain(' \u203a ' + short(zoomed) + ' (' +
			percent(frames[zoomed].width / frames[0].width) + ' of the width)');
	}

	function zoom(index) {
		if (frames[index].width <= 0)
			return;
		zoomed = index;
		breadcrumb();
		layout();
		count();
		point(index);
		hideTip();
	}

	// ------------------------------------------------------------------ search

	let input = null, found = null, box = null;

	// A regular expression if it is one, else just text; capitals count if there are any.
	function compile(text) {
		const flags = /[A-Z]/.test(text) ? 'u' : 'iu';

		try {
			return new RegExp(text, flags);
		} catch (error) {
			return new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), flags);
		}
	}

	function widthOfMatches(from, to) {
		let width = 0;

		for (let i = from; i < to;) {
			if (frames[i].matches) {
				width += frames[i].width;
				i = frames[i].end;
			} else {
				i++;
			}
		}
		return width;
	}

	function count() {
		const root = frames[zoomed], all = frames[0];
		let text = '';

		if (pattern) {
			const n = frames.reduce((sum, f) => sum + (f.matches ? 1 : 0), 0);

			text = n + (n === 1 ? ' frame, ' : ' frames, ') +
				percent(widthOfMatches(0, frames.length) / all.width);
			if (zoomed)
				text += ' (here ' + percent(widthOfMatches(zoomed, root.end) / root.width) + ')';
		}
		found.textContent = text;
	}

	function search(text) {
		pattern = text ? compile(text) : null;
		for (const f of frames)
			f.matches = pattern !== null && f.index > 0 && pattern.test(f.name);
		layout();
		count();
	}

	function makeSearch() {
		found = make('text', { class: 'ink', 'font-size': 13, y: margin + 14, fill: '#16191d',
			'text-anchor': 'end', role: 'status', 'aria-live': 'polite' }, svg);
		box = make('foreignObject', { y: margin - 4, width: BOX, height: 28 }, svg);
		input = box.appendChild(document.createElementNS(XHTML, 'input'));
		set(input, { type: 'search', placeholder: 'Search (text or regular expression)',
			'aria-label': 'Search functions', autocomplete: 'off', spellcheck: 'false' });
		input.addEventListener('input', () => search(input.value));
		input.addEventListener('keydown', (event) => {
			if (event.key !== 'Escape')
				return;
			event.stopPropagation();
			if (input.value) {
				input.value = '';
				search('');
			} else {
				input.blur();
			}
		});
	}

	// ------------------------------------------------------------------ tooltip

	const tip = make('g', { class: 'tip', display: 'none', 'aria-hidden': 'true',
		'pointer-events': 'none', 'font-size': 12, fill: '#fff' }, svg);
	const tipPaper = make('rect', { rx: 4, fill: '#23272d', stroke: '#fff', 'stroke-opacity': 0.6 }, tip);
	const tipText = make('text', {}, tip);

	function wrap(line, lines) {
		let from = 0, at = 0, width = 0;

		for (const character of line) {
			width += widthOf(character);
			if (width > TIP) {
				lines.push(line.slice(from, at));
				from = at;
				width = widthOf(character);
			}
			at += character.length;
		}
		lines.push(line.slice(from));
	}

	function tipLines(f) {
		const lines = [], about = f.about.split('\n');

		wrap(about[0], lines);
		if (lines.length > 12)
			lines.splice(12, lines.length, '\u2026');
		const names = lines.length;

		for (const line of about.slice(1))
			wrap(line, lines);
		if (zoomed && f.index >= zoomed)
			wrap(percent(f.width / frames[zoomed].width) + ' of ' + short(zoomed), lines);
		return { lines, names };
	}

	function hideTip() {
		tip.setAttribute('display', 'none');
	}

	// Below and to the right of the point, unless it would not be seen there.
	function showTip(f, x, y) {
		const { lines, names } = tipLines(f);
		const seen = new DOMPoint(0, (svg.ownerDocument.defaultView || window).innerHeight)
			.matrixTransform(svg.getScreenCTM().inverse()).y;

		tipText.textContent = '';
		lines.forEach((line, i) => {
			const span = make('tspan', { x: 0, y: 18 + 16 * i }, tipText);

			span.textContent = line;
			if (i < names)
				span.setAttribute('font-weight', 'bold');
		});
		tip.removeAttribute('display');
		const width = tipText.getBBox().width + 16, tall = 16 * lines.length + 12;
		const left = Math.max(2, Math.min(x + 14, inner + 2 * margin - width - 2));
		const top = y + 18 + tall > Math.min(seen, height) ? Math.max(2, y - tall - 8) : y + 18;

		for (const span of tipText.children)
			span.setAttribute('x', 8);
		set(tipPaper, { width: width, height: tall });
		tip.setAttribute('transform', 'translate(' + left + ' ' + top + ')');
	}

	// ------------------------------------------------------------------ pointer and keyboard

	// Exactly one frame can be reached with the tabulator key.
	function point(index) {
		frames[current].g.setAttribute('tabindex', -1);
		current = index;
		frames[current].g.setAttribute('tabindex', 0);
	}

	function go(index) {
		if (index < 0)
			return;
		point(index);
		frames[index].g.focus();
	}

	function frameAt(event) {
		let e = event.target;

		while (e && e.parentNode !== group)
			e = e.parentNode;
		return e ? frames[e.flame] : null;
	}

	// The next frame in the direction of 'step' on the same level that can be seen.
	function beside(step) {
		for (let i = current + step; i >= 0 && i < frames.length; i += step) {
			if (frames[i].shown && frames[i].level === frames[current].level)
				return i;
		}
		return -1;
	}

	function below() {
		const next = current + 1;

		return next < frames[current].end && frames[next].shown ? next : -1;
	}

	const keys = {
		ArrowUp: () => go(frames[current].caller),
		ArrowDown: () => go(below()),
		ArrowLeft: () => go(beside(-1)),
		ArrowRight: () => go(beside(1)),
		Home: () => go(0),
		Enter: () => { zoom(current); go(current); },
		' ': () => { zoom(current); go(current); },
	};

	function onFrameKey(event) {
		if (!keys[event.key] || event.ctrlKey || event.altKey || event.metaKey)
			return;
		event.preventDefault();
		keys[event.key]();
	}

	function onKey(event) {
		if (event.key === 'Escape') {
			hideTip();
			zoom(0);
		} else if (event.target !== input && (event.key === '/' ||
			(event.key === 'f' && (event.ctrlKey || event.metaKey)))) {
			event.preventDefault();
			input.focus();
			input.select();
		}
	}

	function onMove(event) {
		const f = frameAt(event);

		if (!f) {
			hideTip();
			return;
		}
		const at = new DOMPoint(event.clientX, event.clientY)
			.matrixTransform(svg.getScreenCTM().inverse());

		showTip(f, at.x, at.y);
	}

	function onFocus(event) {
		const f = frameAt(event);

		if (!f)
			return;
		point(f.index);
		const top = Number(/ (\d+)/.exec(group.getAttribute('transform'))[1]);

		showTip(f, margin + Number(f.rect.getAttribute('x')), top + f.y);
	}

	function listen() {
		group.addEventListener('click', (event) => {
			const f = frameAt(event);

			if (f)
				zoom(f.index);
		});
		group.addEventListener('mousemove', onMove);
		group.addEventListener('mouseleave', hideTip);
		group.addEventListener('focusin', onFocus);
		group.addEventListener('focusout', hideTip);
		group.addEventListener('keydown', onFrameKey);
		svg.ownerDocument.addEventListener('keydown', onKey);
		window.addEventListener('resize', resize);
	}

	// ------------------------------------------------------------------ the whole

	// As wide as the window: frames get wider, text does not.
	function resize() {
		const width = Math.max(480, svg.getBoundingClientRect().width);

		inner = width - 2 * margin;
		paper.setAttribute('width', width);
		box.setAttribute('x', width - margin - BOX);
		found.setAttribute('x', width - margin - BOX - 10);
		layout();
	}

	svg.removeAttribute('viewBox');
	svg.setAttribute('width', '100%');
	set(group, { role: 'tree', 'aria-label': 'Calls, from callers down to callees' });
	readFrames();
	makeSearch();
	listen();
	resize();
	point(0);
}());
