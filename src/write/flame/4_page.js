// SPDX-License-Identifier: Apache-2.0
// The page: its controls, and what they change.
'use strict';

// Text of a profile becomes text of an element, never markup.
function element(tag, className, text) {
	const e = document.createElement(tag);
	e.className = className;
	e.textContent = text;
	return e;
}

function byId(id) {
	return document.getElementById(id);
}

function formatShare(share) {
	const percent = 100 * share;
	return percent === 0 ? '0 %' : percent < 0.01 ? '<0.01 %' : `${percent.toFixed(percent < 10 ? 2 : 1)} %`;
}

function formatScaled(value, units, factor) {
	let unit = 0;
	while (unit + 1 < units.length && value >= factor) {
		value /= factor;
		unit++;
	}
	return `${value.toFixed(unit === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2)} ${units[unit]}`;
}

function formatValue(value, unit) {
	if (unit === 'nanoseconds')
		return value < 60e9 ? formatScaled(value, ['ns', 'µs', 'ms', 's'], 1000) : `${(value / 60e9).toFixed(1)} min`;
	if (unit === 'bytes')
		return formatScaled(value, ['B', 'KiB', 'MiB', 'GiB', 'TiB'], 1024);
	return value.toLocaleString('en-US');
}

class Page {
	constructor() {
		this.data = readData();
		this.view = 0;
		this.choice = { process: '', thread: '', state: '', group: '', type: 0 };
		this.graph = new Graph(byId('scroller'), byId('spacer'), byId('canvas'));
		this.table = new FunctionTable(byId('table-head'), byId('table-rows'), byId('table-spacer'), id => this.pick(id));
		this.picked = -1;
		this.setUpViews();
		this.setUpControls();
		this.setUpPointer();
		document.addEventListener('keydown', event => this.onKey(event));
		new ResizeObserver(() => {
			this.graph.resize();
			this.table.render();
		}).observe(byId('scroller'));
		this.setTheme(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
		this.showView(0);
	}

	get profile() {
		return this.data.views[this.view].profile;
	}

	get unit() {
		const type = this.profile.types[this.choice.type];
		return type ? type.unit : '';
	}

	setUpViews() {
		const buttons = this.data.views.map((view, i) => {
			const button = element('button', '', view.name);
			button.type = 'button';
			button.addEventListener('click', () => this.showView(i));
			return button;
		});
		byId('views').replaceChildren(...buttons);
		byId('views').hidden = buttons.length < 2;
		const title = this.data.title || 'profile';
		byId('title').textContent = title.slice(0, MAX_SHOWN_NAME);
		document.title = `${title.slice(0, 80)} – perf-agent`;
	}

	setUpControls() {
		for (const aspect of [...ASPECTS, 'group'])
			byId(aspect).addEventListener('change', event => {
				this.choice[aspect] = event.target.value;
				if (aspect === 'process')
					this.choice.thread = '';
				this.rebuild();
			});
		byId('type').addEventListener('change', event => {
			this.choice.type = Number(event.target.value);
			this.rebuild();
		});
		byId('search').addEventListener('input', () => this.search());
		byId('flame').addEventListener('click', () => this.setIcicle(false));
		byId('icicle').addEventListener('click', () => this.setIcicle(true));
		byId('toggle-table').addEventListener('click', () => this.toggleTable());
		byId('toggle-theme').addEventListener('click', () => this.toggleTheme());
		byId('show-help').addEventListener('click', () => this.showHelp());
		byId('close-help').addEventListener('click', () => byId('help').close());
	}

	setUpPointer() {
		const { canvas } = this.graph;
		canvas.addEventListener('mousemove', event => this.onMove(event));
		canvas.addEventListener('mouseleave', () => this.hoverOver(-1));
		canvas.addEventListener('click', event => {
			const box = this.graph.boxAt(event.offsetX, event.offsetY);
			if (box >= 0)
				this.zoomTo(box);
		});
	}

	showView(i) {
		this.view = i;
		[...byId('views').children].forEach((b, k) => b.setAttribute('aria-pressed', String(k === i)));
		Object.assign(this.choice, { process: '', thread: '', state: '', type: this.profile.shown });
		const processes = aspectValues(this.profile, this.choice.type, 'process', this.choice);
		this.choice.group = processes.length > 1 ? 'process' : '';
		this.rebuild();
	}

	rebuild() {
		const { choice } = this;
		choice.isFiltered = !!(choice.process || choice.thread || choice.state);
		this.fillControls();
		this.tree = new Tree(this.data, this.data.views[this.view], choice);
		this.graph.setTree(this.tree);
		this.table.setTree(this.tree);
		this.search();
		this.describe();
		this.showPath();
	}

	fillControls() {
		const { profile, choice } = this;
		for (const aspect of ASPECTS) {
			const values = aspectValues(profile, choice.type, aspect, choice);
			const all = values.reduce((sum, v) => sum + v[1], 0);
			const plural = { process: 'processes', thread: 'threads', state: 'states' }[aspect];
			fillSelect(byId(aspect), choice[aspect], [['', `all ${plural}`], ...values.slice(0, 2000).map(([name, sum]) =>
				[name, `${name.slice(0, 60)} · ${formatShare(all ? sum / all : 0)}`])]);
			byId(aspect).hidden = values.length < 2 && !choice[aspect];
		}
		const groups = ASPECTS.filter(a => profile.labels.some(labels => labels[a] !== undefined));
		fillSelect(byId('group'), choice.group, [['', 'not grouped'], ...groups.map(a => [a, `by ${a}`])]);
		byId('group').hidden = groups.length === 0;
		fillSelect(byId('type'), String(choice.type), profile.types.map((t, i) => [String(i), typeName(t)]));
		byId('type').hidden = profile.types.length < 2;
	}

	describe() {
		const { profile, tree, data } = this, parts = [];
		parts.push(formatValue(tree.total[0], this.unit));
		if (profile.timeMs)
			parts.push(new Date(profile.timeMs).toISOString().slice(0, 16).replace('T', ' ') + ' UTC');
		if (profile.durationNs)
			parts.push(`${formatValue(profile.durationNs, 'nanoseconds')} long`);
		parts.push(`${(tree.size - 1).toLocaleString('en-US')} boxes`, `${this.table.all.length.toLocaleString('en-US')} functions`);
		byId('subtitle').textContent = parts.join('  ·  ');
		byId('version').textContent = `perf-agent ${data.version}`;
		const kinds = new Set(this.table.all.map(row => KINDS[data.functions[row.id].kind]));
		const shown = new Set(tree.isDiff ? ['grew', 'shrank'] : kinds);
		if (tree.others.some(o => o.type === 'truncated'))
			shown.add('truncated');
		if (tree.hasInlined())
			shown.add('inlined');
		for (const item of byId('legend').children)
			item.hidden = !shown.has(item.dataset.kind);
		this.showNotes();
	}

	showNotes() {
		const left = this.profile.leftOut, { unit } = this;
		byId('note').textContent = left.samples
			? `${left.samples} samples with the smallest values (${formatValue(leftOutOf(this.profile, this.choice.type), unit)}) are shown without stacks`
			: '';
		byId('comments').replaceChildren(...this.profile.comments.slice(0, 64).map(c => element('li', '', c.slice(0, MAX_SHOWN_NAME))));
	}

	// What the search finds: functions whose names contain it, or match it if it stands between slashes.
	search() {
		const text = byId('search').value, { functions } = this.data;
		let test = null;
		if (this.picked >= 0 && functions[this.picked].name === text)
			test = (f, id) => id === this.picked;
		else if (/^\/.+\/$/.test(text))
			test = regexpTest(text.slice(1, -1));
		else if (text)
			test = f => f.name.toLowerCase().includes(text.toLowerCase());
		const matches = test && Uint8Array.from(functions, (f, id) => test(f, id) ? 1 : 0);
		this.graph.matches = matches;
		this.graph.invalidate();
		this.table.setMatches(matches);
		byId('matches').textContent = matches ? this.describeMatches(matches) : '';
	}

	// What lies in or below a match counts once.
	describeMatches(matches) {
		const { tree } = this, inMatch = new Uint8Array(tree.size);
		let sum = 0;
		this.found = [];
		for (let box = 1; box < tree.size; box++) {
			const f = tree.functionOf(box), isMatch = f >= 0 && matches[f] && tree.total[box] > 0;
			const above = inMatch[tree.table.parent[box]];
			if (isMatch && !above)
				sum += tree.total[box];
			if (isMatch)
				this.found.push(box);
			inMatch[box] = above || isMatch ? 1 : 0;
		}
		this.share = tree.total[0] ? sum / tree.total[0] : 0;
		const nr = this.table.all.reduce((n, row) => n + matches[row.id], 0);
		return nr === 0 ? 'no match' : `${formatShare(this.share)} in ${nr} ${nr === 1 ? 'function' : 'functions'}`;
	}

	nextMatch(step) {
		if (!this.graph.matches || !this.found.length)
			return;
		this.foundAt = ((this.foundAt || 0) + step + this.found.length) % this.found.length;
		const box = this.found[this.foundAt];
		this.graph.focus = box;
		this.graph.zoom = isBelow(this.tree, box, this.graph.zoom) ? this.graph.zoom : 0;
		this.graph.reveal(box);
		this.graph.invalidate();
		this.say(box);
		this.showPath();
	}

	// A function of the table is searched for, and that one alone; picked again, nothing is.
	pick(id) {
		this.picked = this.picked === id ? -1 : id;
		byId('search').value = this.picked >= 0 ? this.data.functions[id].name : '';
		const top = this.table.scroller.scrollTop;
		this.search();
		this.table.setMatches(null);
		this.table.scroller.scrollTop = top;
	}

	zoomTo(box) {
		const began = performance.now();
		this.graph.zoomTo(box);
		this.graph.draw();
		this.zoomMs = performance.now() - began;
		this.showPath();
		this.say(box);
	}

	showPath() {
		const boxes = [], { tree, graph } = this;
		for (let box = graph.zoom; box >= 0; box = tree.table.parent[box])
			boxes.unshift(box);
		const shown = boxes.length > 7 ? [boxes[0], -1, ...boxes.slice(-5)] : boxes;
		byId('path').replaceChildren(...shown.map((box, i) => {
			if (box < 0)
				return element('span', 'more', '…');
			const button = element('button', '', tree.nameOf(box).slice(0, 80));
			button.type = 'button';
			button.disabled = i === shown.length - 1;
			button.addEventListener('click', () => this.zoomTo(box));
			return button;
		}));
		const zoomed = graph.zoom ? `${formatValue(tree.total[graph.zoom], this.unit)} · ${formatShare(tree.total[graph.zoom] / tree.total[0])}` : '';
		byId('path').append(element('span', 'amount', zoomed));
	}

	onMove(event) {
		this.hoverOver(this.graph.boxAt(event.offsetX, event.offsetY));
		const tip = byId('tip');
		if (tip.hidden)
			return;
		const { innerWidth, innerHeight } = window, { offsetWidth, offsetHeight } = tip;
		tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - offsetWidth - 8))}px`;
		tip.style.top = `${event.clientY + 20 + offsetHeight > innerHeight ? Math.max(4, event.clientY - offsetHeight - 12) : event.clientY + 18}px`;
	}

	hoverOver(box) {
		byId('tip').hidden = box < 0;
		this.graph.canvas.style.cursor = box < 0 ? 'default' : 'pointer';
		if (this.graph.hover === box)
			return;
		this.graph.hover = box;
		this.graph.invalidate();
		if (box >= 0)
			byId('tip').replaceChildren(...this.tipOf(box));
	}

	tipOf(box) {
		const { tree } = this, f = tree.functionOf(box), parts = [];
		parts.push(element('div', 'name', this.graph.labelOf(box)));
		const about = f >= 0 ? [KIND_NAMES[this.data.functions[f].kind]] : [box ? tree.other(box).type : ''];
		if (tree.isInlined(box))
			about.push('inlined');
		if (f >= 0 && this.data.functions[f].module)
			about.push(this.data.functions[f].module.slice(-120));
		parts.push(element('div', 'about', about.filter(a => a).join('  ·  ')));
		const place = f >= 0 ? this.placeOf(box, this.data.functions[f]) : '';
		if (place)
			parts.push(element('div', 'place', place));
		for (const [label, value] of [['total', tree.total[box]], ['self', tree.self[box]]])
			parts.push(this.tipNumber(label, value));
		if (tree.isDiff)
			parts.push(element('div', 'number', `before: ${formatValue(tree.baseTotal[box], this.unit)} · ` +
				`${tree.growth(box) >= 0 ? '+' : '−'}${formatShare(Math.abs(tree.growth(box)))} of all`));
		return parts;
	}

	tipNumber(label, value) {
		const { tree } = this, line = element('div', 'number', '');
		line.append(element('b', '', label), ` ${formatValue(value, this.unit)} · ${formatShare(tree.total[0] ? value / tree.total[0] : 0)}`);
		if (this.graph.zoom)
			line.append(` · ${formatShare(value / tree.total[this.graph.zoom])} of zoom`);
		return line;
	}

	placeOf(box, f) {
		if (!f.file)
			return '';
		const lines = this.tree.linesOf(box);
		if (!lines.length)
			return f.line ? `${f.file}:${f.line}` : f.file;
		const rest = lines.slice(1, 4).map(l => l[0]).join(', ');
		return `${f.file}:${lines[0][0]}${rest ? `  (also ${rest}${lines.length > 4 ? ', …' : ''})` : ''}`;
	}

	// For readers of the screen.
	say(box) {
		byId('said').textContent = `${this.graph.labelOf(box)}, ${formatShare(this.tree.total[box] / (this.tree.total[0] || 1))}, ` +
			`self ${formatShare(this.tree.self[box] / (this.tree.total[0] || 1))}`;
	}

	setIcicle(isIcicle) {
		this.graph.isIcicle = isIcicle;
		byId('flame').setAttribute('aria-pressed', String(!isIcicle));
		byId('icicle').setAttribute('aria-pressed', String(isIcicle));
		this.graph.showRoot();
		this.graph.reveal(this.graph.zoom);
		this.graph.invalidate();
	}

	toggleTable() {
		const isHidden = byId('main').classList.toggle('no-table');
		byId('toggle-table').setAttribute('aria-pressed', String(!isHidden));
		this.graph.resize();
	}

	setTheme(theme) {
		this.theme = theme;
		document.documentElement.dataset.theme = theme;
		byId('toggle-theme').textContent = theme === 'dark' ? 'Light' : 'Dark';
		this.graph.setTheme(theme);
	}

	toggleTheme() {
		this.setTheme(this.theme === 'dark' ? 'light' : 'dark');
	}

	showHelp() {
		if (!byId('help').open)
			byId('help').showModal();
	}

	escape() {
		if (byId('search').value) {
			byId('search').value = '';
			this.search();
		} else {
			this.zoomTo(0);
		}
	}

	stepTo(direction) {
		this.graph.step(direction);
		this.say(Math.max(0, this.graph.focus));
		this.showPath();
	}

	onKey(event) {
		const isInput = event.target.matches('input, select, dialog, dialog *');
		if (event.ctrlKey || event.metaKey || event.altKey || isInput && event.key !== 'Escape')
			return;
		const outer = this.graph.isIcicle ? 'caller' : 'callee', inner = this.graph.isIcicle ? 'callee' : 'caller';
		const keys = {
			'/': () => byId('search').focus(),
			'Escape': () => {
				this.escape();
				event.target.blur();
			},
			'Enter': () => this.graph.focus >= 0 && !event.target.matches('button') && this.zoomTo(this.graph.focus),
			'Backspace': () => this.zoomTo(Math.max(0, this.tree.table.parent[this.graph.zoom])),
			'ArrowUp': () => this.stepTo(outer),
			'ArrowDown': () => this.stepTo(inner),
			'ArrowLeft': () => this.stepTo('left'),
			'ArrowRight': () => this.stepTo('right'),
			'n': () => this.nextMatch(1),
			'N': () => this.nextMatch(-1),
			'i': () => this.setIcicle(!this.graph.isIcicle),
			't': () => this.toggleTable(),
			'd': () => this.toggleTheme(),
			'v': () => this.showView((this.view + 1) % this.data.views.length),
			'?': () => this.showHelp(),
		};
		if (byId('help').open || !Object.hasOwn(keys, event.key))
			return;
		if (event.key !== 'Enter' || !event.target.matches('button'))
			event.preventDefault();
		keys[event.key]();
	}
}

function regexpTest(source) {
	try {
		const regexp = new RegExp(source);
		return f => regexp.test(f.name);
	} catch {
		return () => false; // not complete yet
	}
}

function isBelow(tree, box, top) {
	for (; box >= 0; box = tree.table.parent[box])
		if (box === top)
			return true;
	return false;
}

function typeName(t) {
	if (t.unit === 'nanoseconds')
		return `${t.type} time`;
	return t.unit === 'count' ? `number of ${t.type}` : `${t.type} (${t.unit})`;
}

function fillSelect(select, value, options) {
	select.replaceChildren(...options.map(([id, text]) => {
		const option = element('option', '', text);
		option.value = id;
		return option;
	}));
	select.value = value;
}

const flame = new Page();
