// SPDX-License-Identifier: Apache-2.0
// The graph: boxes on a canvas. Only boxes that are visible and wide enough are drawn, however many there are.
'use strict';

const ROW = 21;
const MIN_WIDTH = 1; // narrower boxes are not drawn one by one
const MIN_SHADE_WIDTH = 3; // narrower ones have the color of their kind: each change of color takes time
const MIN_TEXT_WIDTH = 26;
const MAX_SHOWN_NAME = 400; // no box, row or tip shows more of a name

// Hue, saturation, lightness by kind; a box varies them a little by its function.
const COLORS = {
	light: { user: [28, 82, 71], kernel: [211, 62, 74], jit: [152, 46, 66], python: [266, 56, 77], group: [220, 12, 86],
		gap: '#fbfaf8', text: '#1d1b19', dim: '#8b857d', match: '#c026d3', matchText: '#ffffff', focus: '#1d1b19' },
	dark: { user: [26, 58, 50], kernel: [212, 44, 50], jit: [154, 36, 42], python: [266, 38, 56], group: [222, 10, 32],
		gap: '#181a1f', text: '#f6f3ee', dim: '#8b90a0', match: '#e879f9', matchText: '#1d1020', focus: '#ffffff' },
};

function hashName(s) {
	let hash = 2166136261;
	for (let i = Math.min(s.length, 64) - 1; i >= 0; i--)
		hash = Math.imul(hash ^ s.charCodeAt(i), 16777619);
	return (hash ^ (hash >>> 15)) >>> 0;
}

class Graph {
	constructor(scroller, spacer, canvas) {
		this.scroller = scroller;
		this.spacer = spacer;
		this.canvas = canvas;
		this.context = canvas.getContext('2d');
		this.isIcicle = false;
		this.theme = 'light';
		this.hover = this.focus = -1;
		this.zoom = 0;
		this.matches = null; // by function: 1 if it was searched for
		this.colorCache = new Map();
		this.drawn = 0;
		this.pending = this.width = this.height = 0;
		scroller.addEventListener('scroll', () => this.invalidate());
	}

	setTree(tree) {
		this.tree = tree;
		this.zoom = 0;
		this.hover = this.focus = -1;
		this.colorCache.clear();
		this.resize();
		this.showRoot();
	}

	setTheme(theme) {
		this.theme = theme;
		this.colorCache.clear();
		this.invalidate();
	}

	resize() {
		const ratio = window.devicePixelRatio || 1, { scroller, spacer } = this;
		const below = spacer.offsetHeight - scroller.scrollTop - this.height; // stays, where the root is at the bottom
		this.width = this.scroller.clientWidth;
		this.height = this.scroller.clientHeight;
		this.canvas.width = Math.round(this.width * ratio);
		this.canvas.height = Math.round(this.height * ratio);
		this.canvas.style.width = `${this.width}px`;
		this.canvas.style.height = `${this.height}px`;
		this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.rows = (this.tree ? this.tree.maxDepth : 0) + 1;
		spacer.style.height = `${Math.max(this.rows * ROW, this.height)}px`;
		if (!this.isIcicle)
			scroller.scrollTop = spacer.offsetHeight - this.height - below;
		this.invalidate();
	}

	showRoot() {
		this.scroller.scrollTop = this.isIcicle ? 0 : this.spacer.offsetHeight;
	}

	invalidate() {
		if (!this.pending)
			this.pending = requestAnimationFrame(() => this.draw());
	}

	// The top of a row on the canvas.
	yOf(depth) {
		const all = Math.max(this.rows * ROW, this.height), top = this.scroller.scrollTop;
		return this.isIcicle ? depth * ROW - top : all - (depth + 1) * ROW - top;
	}

	depthAt(y) {
		const all = Math.max(this.rows * ROW, this.height), at = y + this.scroller.scrollTop;
		return Math.floor((this.isIcicle ? at : all - at) / ROW);
	}

	kindOf(box) {
		const f = this.tree.functionOf(box);
		return f >= 0 ? KINDS[this.tree.data.functions[f].kind] : 'group';
	}

	colorOf(box) {
		const key = this.tree.isDiff ? box : this.tree.table.key[box];
		let color = this.colorCache.get(key);
		if (!color)
			this.colorCache.set(key, color = this.tree.isDiff && box ? this.growthColor(box) : this.kindColor(box));
		return color;
	}

	plainColor(box) {
		const [hue, saturation, lightness] = COLORS[this.theme][this.kindOf(box)];
		return `hsl(${hue} ${saturation}% ${lightness}%)`;
	}

	kindColor(box) {
		const [hue, saturation, lightness] = COLORS[this.theme][this.kindOf(box)];
		const hash = this.tree.isFunction(box) ? hashName(this.tree.nameOf(box)) : 0;
		const lighter = this.tree.isInlined(box) ? (this.theme === 'light' ? 6 : -5) : 0;
		return `hsl(${hue + hash % 15 - 7} ${saturation + (hash >>> 4) % 11 - 5}% ${lightness + lighter + (hash >>> 8) % 9 - 4}%)`;
	}

	// Red grew, blue shrank; the more its share changed, the stronger.
	growthColor(box) {
		const { tree } = this, before = tree.baseTotal[0] ? tree.baseTotal[box] / tree.baseTotal[0] : 0;
		const after = tree.total[0] ? tree.total[box] / tree.total[0] : 0;
		const change = (after - before) / (Math.max(after, before) || 1), much = Math.min(1, Math.abs(change) * 1.6);
		const [near, far] = this.theme === 'light' ? [90, 66] : [30, 48];
		return `hsl(${change > 0 ? 8 : 214} ${Math.round(8 + 68 * much)}% ${Math.round(near + (far - near) * much)}%)`;
	}

	draw() {
		cancelAnimationFrame(this.pending); // of what is drawn now
		this.pending = 0;
		const { context: c, tree } = this, colors = COLORS[this.theme];
		c.clearRect(0, 0, this.width, this.height);
		this.drawn = 0;
		if (!tree || !tree.total[0])
			return;
		c.textBaseline = 'middle';
		const above = [];
		for (let box = tree.table.parent[this.zoom]; box >= 0; box = tree.table.parent[box])
			above.push(box);
		c.globalAlpha = 0.55;
		for (const box of above)
			this.drawBox(box, 0, this.width);
		c.globalAlpha = 1;
		const scale = this.width / tree.total[this.zoom], left = tree.x[this.zoom];
		const minimum = MIN_WIDTH / scale, path = [this.zoom];
		while (path.length) {
			const box = path.pop();
			this.drawBox(box, (tree.x[box] - left) * scale, tree.total[box] * scale);
			for (let i = tree.first[box]; i < tree.first[box + 1]; i++) {
				const child = tree.children[i];
				if (tree.total[child] < minimum) {
					this.drawRest(box, child, scale, left);
					break; // the others are smaller still
				}
				path.push(child);
			}
		}
		for (const [box, width] of [[this.hover, 1], [this.focus, 2]])
			this.outline(box, width, colors.focus, scale, left);
	}

	// The children of a box from one on, which are too narrow to be drawn one by one.
	drawRest(box, child, scale, left) {
		const { context: c, tree } = this, last = tree.children[tree.first[box + 1] - 1];
		const x = (tree.x[child] - left) * scale, w = (tree.x[last] + tree.total[last] - left) * scale - x;
		const y = this.yOf(tree.depth[child]);
		if (w < MIN_WIDTH || y + ROW < 0 || y > this.height)
			return;
		this.drawn++;
		c.globalAlpha = this.matches ? 0.25 : 0.5;
		c.fillStyle = this.kindColor(0);
		c.fillRect(x, y, w, ROW - 1);
		c.globalAlpha = 1;
	}

	outline(box, width, color, scale, left) {
		if (box < 0)
			return;
		const { context: c, tree } = this, isBelow = tree.depth[box] >= tree.depth[this.zoom];
		const x = isBelow ? (tree.x[box] - left) * scale : 0, w = isBelow ? tree.total[box] * scale : this.width;
		c.strokeStyle = color;
		c.lineWidth = width;
		c.strokeRect(x + 0.5, this.yOf(tree.depth[box]) + 0.5, Math.max(1, w - 1.5), ROW - 2);
	}

	drawBox(box, x, w) {
		const { context: c, tree } = this, y = this.yOf(tree.depth[box]), colors = COLORS[this.theme];
		if (y + ROW < 0 || y > this.height)
			return;
		this.drawn++;
		const f = tree.functionOf(box), isMatch = this.matches && f >= 0 && this.matches[f];
		const dims = this.matches && !isMatch, alpha = c.globalAlpha;
		if (dims)
			c.globalAlpha = alpha * 0.45;
		const inner = w > 3 ? w - 1 : w;
		c.fillStyle = isMatch ? colors.match : w < MIN_SHADE_WIDTH && !tree.isDiff ? this.plainColor(box) : this.colorOf(box);
		c.fillRect(x, y, inner, ROW - 1);
		if (w > 4 && f < 0 && box && tree.other(box).type === 'truncated')
			this.hatch(x, y, inner);
		if (w > 6 && tree.isInlined(box))
			this.markInlined(x, y, inner, isMatch ? colors.matchText : colors.text);
		if (w > MIN_TEXT_WIDTH)
			this.drawText(box, x, y, inner, isMatch ? colors.matchText : colors.text);
		c.globalAlpha = alpha;
	}

	hatch(x, y, w) {
		const { context: c } = this;
		c.save();
		c.beginPath();
		c.rect(x, y, w, ROW - 1);
		c.clip();
		c.strokeStyle = this.theme === 'light' ? 'rgb(0 0 0 / 0.13)' : 'rgb(255 255 255 / 0.16)';
		c.lineWidth = 2;
		c.beginPath();
		for (let at = Math.max(x, 0) - ROW; at < Math.min(x + w, this.width); at += 8) {
			c.moveTo(at, y + ROW);
			c.lineTo(at + ROW, y);
		}
		c.stroke();
		c.restore();
	}

	// A dotted line along its inner edge: the call is part of its caller's code.
	markInlined(x, y, w, color) {
		const { context: c } = this;
		c.fillStyle = color;
		const alpha = c.globalAlpha, from = Math.max(x, 0), to = Math.min(x + w, this.width);
		c.globalAlpha = alpha * 0.45;
		for (let at = from + 2; at < to - 2; at += 4)
			c.fillRect(at, this.isIcicle ? y : y + ROW - 2, 2, 1);
		c.globalAlpha = alpha;
	}

	drawText(box, x, y, w, color) {
		const { context: c, tree } = this, isFunction = tree.isFunction(box);
		c.font = `${tree.isInlined(box) ? 'italic ' : ''}${isFunction ? 400 : 600} 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif`;
		c.fillStyle = color;
		const from = Math.max(x, 0), room = Math.min(x + w, this.width) - from - 9;
		const text = fitText(c, this.labelOf(box), room);
		if (text)
			c.fillText(text, from + 5, y + ROW / 2 + 0.5);
	}

	labelOf(box) {
		const { tree } = this, name = tree.nameOf(box).slice(0, MAX_SHOWN_NAME);
		return !tree.isFunction(box) && box && tree.other(box).type === 'truncated' ? `truncated: ${name}` : name;
	}

	boxAt(x, y) {
		const { tree } = this, depth = this.depthAt(y), zoomDepth = tree.depth[this.zoom];
		if (depth < 0 || !tree.total[0] || x < 0 || x >= this.width)
			return -1;
		let box = this.zoom;
		for (let i = depth; i < zoomDepth; i++)
			box = tree.table.parent[box];
		const at = tree.x[this.zoom] + x * tree.total[this.zoom] / this.width;
		for (let i = zoomDepth; i < depth && box >= 0; i++)
			box = tree.childAt(box, at);
		return box >= 0 && tree.total[box] > 0 ? box : -1;
	}

	zoomTo(box) {
		this.zoom = box;
		this.focus = box;
		this.reveal(box);
		this.invalidate();
	}

	// Scrolls so that a box is visible, with some of what lies on it.
	reveal(box) {
		const y = this.yOf(this.tree.depth[box]);
		if (y < ROW || y > this.height - 2 * ROW)
			this.scroller.scrollTop += y - (this.isIcicle ? 2 * ROW : this.height - 3 * ROW);
	}

	// From a box to its caller, its largest callee, or its neighbors.
	step(direction) {
		const { tree } = this, box = this.focus < 0 ? this.zoom : this.focus, up = tree.table.parent[box];
		let to = -1;
		if (direction === 'caller')
			to = up;
		else if (direction === 'callee')
			to = tree.first[box] < tree.first[box + 1] ? tree.children[tree.first[box]] : -1;
		else if (up >= 0 && box !== this.zoom)
			for (let i = tree.first[up]; i < tree.first[up + 1]; i++)
				if (tree.children[i] === box)
					to = this.sibling(up, i + (direction === 'left' ? -1 : 1));
		if (to >= 0 && tree.total[to] > 0) {
			this.focus = to;
			if (tree.depth[to] < tree.depth[this.zoom])
				this.zoom = to;
			this.reveal(to);
			this.invalidate();
		}
	}

	sibling(up, i) {
		return i >= this.tree.first[up] && i < this.tree.first[up + 1] ? this.tree.children[i] : -1;
	}
}

const charWidths = new Map(); // by font, then by character: measuring whole texts would take most of a drawing's time

function charWidth(c, char) {
	let widths = charWidths.get(c.font);
	if (!widths)
		charWidths.set(c.font, widths = new Map());
	let width = widths.get(char);
	if (width === undefined)
		widths.set(char, width = c.measureText(char).width);
	return width;
}

// As much of a text as there is room for.
function fitText(c, text, room) {
	const dots = charWidth(c, '…');
	let width = 0, fitting = '', shown = '';
	for (const char of text) {
		width += charWidth(c, char);
		shown += char;
		if (width <= room - dots)
			fitting = shown;
		if (width > room)
			return fitting.length > 1 ? `${fitting}…` : '';
	}
	return shown;
}
