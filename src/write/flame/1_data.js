// SPDX-License-Identifier: Apache-2.0
// The data of the page as arrays, and the tree that is shown of it.
'use strict';

const KINDS = ['user', 'kernel', 'jit', 'python'];
const KIND_NAMES = ['user', 'kernel', 'JIT', 'Python'];

// Nodes by (parent, key), numbered in the order in which they are added: a parent comes before its children.
class NodeTable {
	constructor() {
		this.size = 0;
		this.parent = new Int32Array(1024);
		this.key = new Int32Array(1024);
		this.slots = new Int32Array(4096);
	}

	slotOf(parent, key) {
		const mask = this.slots.length - 1;
		let hash = Math.imul(parent, 0x9e3779b1) ^ Math.imul(key, 0x85ebca6b);
		hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
		let slot = (hash ^ (hash >>> 13)) & mask;
		for (let id; (id = this.slots[slot]) !== 0; slot = (slot + 1) & mask)
			if (this.parent[id - 1] === parent && this.key[id - 1] === key)
				break;
		return slot;
	}

	find(parent, key) {
		return this.slots[this.slotOf(parent, key)] - 1;
	}

	add(parent, key) {
		let slot = this.slotOf(parent, key);
		if (this.slots[slot] !== 0)
			return this.slots[slot] - 1;
		if (2 * this.size > this.slots.length) {
			this.grow();
			slot = this.slotOf(parent, key);
		}
		if (this.size === this.parent.length) {
			this.parent = larger(this.parent);
			this.key = larger(this.key);
		}
		this.parent[this.size] = parent;
		this.key[this.size] = key;
		this.slots[slot] = ++this.size;
		return this.size - 1;
	}

	grow() {
		this.slots = new Int32Array(2 * this.slots.length);
		for (let id = 0; id < this.size; id++)
			this.slots[this.slotOf(this.parent[id], this.key[id])] = id + 1;
	}
}

function larger(array) {
	const to = new array.constructor(2 * array.length);
	to.set(array);
	return to;
}

function baseName(path) {
	return path.slice(path.lastIndexOf('/') + 1);
}

// Code without a symbol, by its module: addresses differ between two runs.
function nameInDiff(name, module) {
	if (!/^0x[0-9a-f]+$/.test(name))
		return name;
	return module.startsWith('[') ? module : `[no symbol] ${baseName(module)}`.trim();
}

// Generated code has no file but that of its script; two scripts may have functions of one name. As in folded stacks.
function nameWithScript(name, file, module) {
	const script = module === '[jit]' ? baseName(file) : '';
	return name.includes(script) ? name : `${name} (${script})`;
}

/*
 * Functions are one if a reader cannot tell them apart. In a comparison, as in the table of 'perf-agent diff', they are
 * one if name and file name of the module are the same: two builds of a program may lie in different directories.
 */
function readFunctions(raw, isDiff) {
	const s = raw.strings, f = raw.functions;
	const keys = new Map(), functions = [], keyOf = new Int32Array(f.length / 5);
	for (let i = 0; i < keyOf.length; i++) {
		const [nameId, file, moduleId, line, kind] = f.slice(5 * i, 5 * i + 5), module = s[moduleId];
		const scripted = nameWithScript(s[nameId], s[file], module);
		const name = isDiff ? nameInDiff(scripted, module) : scripted;
		const id = isDiff ? `${baseName(module)}/${name}` : `${name} ${kind} ${moduleId}`;
		let key = keys.get(id);
		if (key === undefined) {
			key = functions.length;
			keys.set(id, key);
			functions.push({ name, file: s[file], module, line, kind });
		}
		if (!functions[key].file && s[file]) {
			functions[key].file = s[file];
			functions[key].line = line;
		}
		keyOf[i] = key;
	}
	return { functions, keyOf };
}

// What samples can be grouped and filtered by.
const ASPECTS = ['process', 'thread', 'state'];

// A task by its name and number. Numbers differ between two runs of the same program.
function taskName(name, number, isDiff) {
	if (name === undefined || number === undefined)
		return name === undefined ? number : name;
	return isDiff ? name : `${name} (${number})`;
}

// The aspects of samples with the same labels, and why their stacks were truncated.
function readLabels(raw, sets, isDiff) {
	return sets.map(set => {
		const labels = new Map();
		for (let i = 0; i < set.length; i += 2)
			labels.set(raw.strings[set[i]], raw.strings[set[i + 1]]);
		return {
			process: taskName(labels.get('comm'), labels.get('pid'), isDiff),
			thread: taskName(labels.get('thread'), labels.get('tid'), isDiff),
			state: labels.get('state'),
			truncated: labels.get('truncated'),
		};
	});
}

// The stacks of a profile as nodes; 0 is the root.
function readTree(steps) {
	let nr = 1;
	for (const step of steps)
		nr += step >= 0 ? 1 : 0;
	const parent = new Int32Array(nr), frame = new Int32Array(nr);
	let at = 0, node = 0;
	frame[0] = -1;
	for (const step of steps) {
		if (step < 0) {
			for (let up = step; up < 0; up++)
				at = parent[at];
			continue;
		}
		node++;
		parent[node] = at;
		frame[node] = step;
		at = node;
	}
	return { parent, frame };
}

function readProfile(raw, p, isDiff) {
	const types = [];
	for (let i = 0; i < p.types.length; i += 2)
		types.push({ type: raw.strings[p.types[i]], unit: raw.strings[p.types[i + 1]], column: i / 2 });
	let node = 0;
	return {
		program: raw.strings[p.program],
		timeMs: p.time_ms,
		durationNs: p.duration_ns,
		comments: p.comments.map(c => raw.strings[c]),
		types,
		shown: p.shown < types.length ? p.shown : 0,
		labels: readLabels(raw, p.labels, isDiff),
		tree: readTree(p.tree),
		nodes: p.nodes.map(delta => node += delta),
		sets: p.sets,
		values: p.values,
		leftOut: p.left_out,
	};
}

// Leaves the types that two profiles have both, in the same order: each may have its own.
function shareTypes(profile, base) {
	const pairs = profile.types.map(t => [t, base.types.find(b => b.type === t.type && b.unit === t.unit)]).filter(p => p[1]);
	const shown = pairs.findIndex(p => p[0].column === profile.shown);
	profile.types = pairs.map(p => p[0]);
	base.types = pairs.map(p => p[1]);
	profile.shown = Math.max(0, shown);
}

// The value of a sample, of a type: values that are multiples of the first column's are given by their factor.
function valueOf(profile, type, i) {
	const values = profile.values[profile.types[type].column];
	return Math.max(0, typeof values === 'number' ? profile.values[0][i] * values : values[i]);
}

// The value of all samples that were left out.
function leftOutOf(profile, type) {
	return profile.leftOut.values[profile.types[type].column];
}

function readView(raw, v, isDiff) {
	const profile = readProfile(raw, v.profile, isDiff), base = v.base ? readProfile(raw, v.base, isDiff) : null;
	if (base)
		shareTypes(profile, base);
	return { name: raw.strings[v.name], profile, base };
}

function readData() {
	const raw = JSON.parse(document.getElementById('data').textContent);
	const isDiff = raw.views.some(v => v.base);
	const { functions, keyOf } = readFunctions(raw, isDiff);
	const nr = raw.frames.length / 3;
	const frameKey = new Int32Array(nr), frameLine = new Int32Array(nr);
	for (let i = 0; i < nr; i++) {
		const isInlined = isDiff ? 0 : raw.frames[3 * i + 2]; // builds that are compared inline differently
		frameKey[i] = 2 * keyOf[raw.frames[3 * i]] + isInlined;
		frameLine[i] = raw.frames[3 * i + 1];
	}
	return {
		title: raw.strings[raw.title],
		version: raw.version,
		functions, frameKey, frameLine,
		views: raw.views.map(v => readView(raw, v, isDiff)),
	};
}

/*
 * The tree that is shown: boxes, each a function below its callers. A key is twice the number of a function, plus 1
 * if it was inlined there; larger ones are boxes that are not functions: groups, and reasons of truncation.
 */
class Tree {
	constructor(data, view, choice) {
		this.data = data;
		this.isDiff = !!view.base;
		this.table = new NodeTable();
		this.table.add(-1, -1);
		this.others = [];
		this.otherKeys = new Map();
		this.entries = new NodeTable(); // places of stacks: (box on top, node of the profile)
		this.entryBox = new Int32Array(1024);
		this.entryNext = new Int32Array(1024);
		this.entrySelf = new Float64Array(1024);
		this.boxEntry = new Int32Array(1024).fill(-1);
		this.self = new Float64Array(1024);
		this.baseSelf = new Float64Array(1024);
		this.addProfile(view.profile, choice, false);
		if (view.base)
			this.addProfile(view.base, choice, true);
		this.sumUp();
		this.layOut();
	}

	isFunction(box) {
		const key = this.table.key[box];
		return key >= 0 && key < 2 * this.data.functions.length;
	}

	functionOf(box) {
		return this.isFunction(box) ? this.table.key[box] >> 1 : -1;
	}

	isInlined(box) {
		return this.isFunction(box) && (this.table.key[box] & 1) === 1;
	}

	hasInlined() {
		for (let box = 1; box < this.size; box++)
			if (this.isInlined(box))
				return true;
		return false;
	}

	other(box) {
		return this.others[this.table.key[box] - 2 * this.data.functions.length];
	}

	nameOf(box) {
		if (box === 0)
			return 'all';
		const f = this.functionOf(box);
		return f >= 0 ? this.data.functions[f].name : this.other(box).name;
	}

	addOther(parent, type, name) {
		const id = `${type} ${name}`;
		let key = this.otherKeys.get(id);
		if (key === undefined) {
			key = 2 * this.data.functions.length + this.others.length;
			this.others.push({ type, name });
			this.otherKeys.set(id, key);
		}
		return this.addBox(parent, key);
	}

	addBox(parent, key) {
		const box = this.table.add(parent, key);
		if (box >= this.self.length) {
			this.self = larger(this.self);
			this.baseSelf = larger(this.baseSelf);
			this.boxEntry = larger(this.boxEntry).fill(-1, box);
		}
		return box;
	}

	addEntry(top, node, box) {
		const entry = this.entries.add(top, node);
		if (entry >= this.entryBox.length) {
			this.entryBox = larger(this.entryBox);
			this.entryNext = larger(this.entryNext);
			this.entrySelf = larger(this.entrySelf);
		}
		this.entryBox[entry] = box;
		this.entryNext[entry] = this.boxEntry[box];
		this.boxEntry[box] = entry;
		return entry;
	}

	// The box below which the stack of a sample begins.
	topOf(labels, choice) {
		let top = 0;
		if (choice.group)
			top = this.addOther(0, choice.group, labels[choice.group] || '[unknown]');
		return labels.truncated ? this.addOther(top, 'truncated', labels.truncated) : top;
	}

	addProfile(profile, choice, isBase) {
		const { parent, frame } = profile.tree, { frameKey } = this.data;
		const shift = isBase ? this.baseShift : 0; // nodes of two profiles have different numbers
		this.baseShift = parent.length;
		const tops = new Map(), path = [];
		const isIn = profile.labels.map(labels => matchesChoice(labels, choice));
		for (let i = 0; i < profile.nodes.length; i++) {
			const set = profile.sets[i], value = isIn[set] ? valueOf(profile, choice.type, i) : 0;
			if (value === 0)
				continue;
			if (!tops.has(set))
				tops.set(set, this.topOf(profile.labels[set], choice));
			const top = tops.get(set);
			let node = profile.nodes[i], box = top, entry = -1;
			while (node !== 0 && (entry = this.entries.find(top, node + shift)) < 0) {
				path.push(node);
				node = parent[node];
			}
			if (node !== 0)
				box = this.entryBox[entry];
			while (path.length) {
				node = path.pop();
				box = this.addBox(box, frameKey[frame[node]]);
				entry = this.addEntry(top, node + shift, box);
			}
			(isBase ? this.baseSelf : this.self)[box] += value;
			if (!isBase && entry >= 0)
				this.entrySelf[entry] += value;
		}
		const left = profile.leftOut;
		if (left.samples && !choice.isFiltered)
			(isBase ? this.baseSelf : this.self)[
				this.addOther(0, 'left out', this.isDiff ? 'small stacks, left out' : `${left.samples} small stacks, left out`)] += leftOutOf(profile, choice.type);
		if (!isBase)
			this.profile = profile;
	}

	sumUp() {
		const { parent, size } = this.table;
		this.size = size;
		this.total = this.self.slice(0, size);
		this.baseTotal = this.baseSelf.slice(0, size);
		for (let box = size - 1; box > 0; box--) {
			this.total[parent[box]] += this.total[box];
			this.baseTotal[parent[box]] += this.baseTotal[box];
		}
	}

	// Children of a box are children[first[box]] up to first[box + 1], the largest first; x begins with 0.
	layOut() {
		const { parent } = this.table, { size, total } = this;
		const first = this.first = new Int32Array(size + 1);
		for (let box = 1; box < size; box++)
			first[parent[box] + 1]++;
		for (let box = 0; box < size; box++)
			first[box + 1] += first[box];
		const children = this.children = new Int32Array(Math.max(0, size - 1)), next = first.slice();
		for (let box = 1; box < size; box++)
			children[next[parent[box]]++] = box;
		this.x = new Float64Array(size);
		this.depth = new Int32Array(size);
		this.maxDepth = 0;
		for (let box = 0; box < size; box++) { // parents come first
			const own = children.subarray(first[box], first[box + 1]);
			let x = this.x[box];
			if (own.length > 1)
				own.sort((a, b) => total[b] - total[a] || a - b);
			for (const child of own) {
				this.x[child] = x;
				x += total[child];
				this.depth[child] = this.depth[box] + 1;
			}
			if (total[box] > 0)
				this.maxDepth = Math.max(this.maxDepth, this.depth[box]);
		}
	}

	childAt(box, x) {
		let low = this.first[box], high = this.first[box + 1];
		while (low < high) {
			const middle = (low + high) >> 1;
			if (this.x[this.children[middle]] <= x)
				low = middle + 1;
			else
				high = middle;
		}
		const child = low > this.first[box] ? this.children[low - 1] : -1;
		return child >= 0 && x < this.x[child] + this.total[child] ? child : -1;
	}

	// The share of the whole by which a box grew.
	growth(box) {
		const before = this.baseTotal[0] ? this.baseTotal[box] / this.baseTotal[0] : 0;
		return (this.total[0] ? this.total[box] / this.total[0] : 0) - before;
	}

	// The lines of a box that are on its stacks, with what lies below each; the largest first.
	linesOf(box) {
		const lines = new Map(), { parent, frame } = this.profile.tree;
		if (!this.entryTotal)
			this.sumEntries();
		for (let e = this.boxEntry[box]; e >= 0; e = this.entryNext[e]) {
			const node = this.entries.key[e];
			if (node >= parent.length)
				continue;
			const line = this.data.frameLine[frame[node]];
			lines.set(line, (lines.get(line) || 0) + this.entryTotal[e]);
		}
		return [...lines].filter(l => l[0] > 0).sort((a, b) => b[1] - a[1]);
	}

	sumEntries() {
		const { parent } = this.profile.tree;
		this.entryTotal = this.entrySelf.slice(0, this.entries.size);
		for (let e = this.entries.size - 1; e >= 0; e--) {
			const node = this.entries.key[e];
			const up = node < parent.length && parent[node] ? this.entries.find(this.entries.parent[e], parent[node]) : -1;
			if (up >= 0)
				this.entryTotal[up] += this.entryTotal[e];
		}
	}

	// Self and total of each function; recursive calls count once.
	sumFunctions() {
		const nr = this.data.functions.length;
		const sums = { self: new Float64Array(nr), total: new Float64Array(nr),
			baseSelf: new Float64Array(nr), baseTotal: new Float64Array(nr) };
		const open = new Int32Array(nr), path = [0], at = [this.first[0]];
		while (path.length) {
			const top = path.length - 1, box = path[top], f = this.functionOf(box);
			if (at[top] === this.first[box] && f >= 0 && open[f]++ === 0) {
				sums.total[f] += this.total[box];
				sums.baseTotal[f] += this.baseTotal[box];
			}
			if (at[top] === this.first[box] && f >= 0) {
				sums.self[f] += this.self[box];
				sums.baseSelf[f] += this.baseSelf[box];
			}
			if (at[top] < this.first[box + 1]) {
				const child = this.children[at[top]++];
				path.push(child);
				at.push(this.first[child]);
				continue;
			}
			if (f >= 0)
				open[f]--;
			path.pop();
			at.pop();
		}
		return sums;
	}
}

function matchesChoice(labels, choice) {
	return ASPECTS.every(aspect => !choice[aspect] || labels[aspect] === choice[aspect]);
}

// The values of an aspect that samples have, with their sums, the largest first.
function aspectValues(profile, type, aspect, choice) {
	const others = { ...choice, [aspect]: '' };
	if (aspect === 'process')
		others.thread = '';
	const names = profile.labels.map(labels => matchesChoice(labels, others) ? labels[aspect] : undefined);
	const sums = new Map();
	for (let i = 0; i < profile.nodes.length; i++) {
		const name = names[profile.sets[i]];
		if (name !== undefined)
			sums.set(name, (sums.get(name) || 0) + valueOf(profile, type, i));
	}
	return [...sums].sort((a, b) => b[1] - a[1]);
}
