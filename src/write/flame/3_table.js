// SPDX-License-Identifier: Apache-2.0
// The table of functions. Rows exist while they are visible.
'use strict';

const TABLE_ROW = 24;

class FunctionTable {
	constructor(head, scroller, spacer, onPick) {
		this.head = head;
		this.scroller = scroller;
		this.spacer = spacer;
		this.onPick = onPick;
		this.sort = 'self';
		this.isDescending = true;
		this.matches = null;
		this.rows = [];
		scroller.addEventListener('scroll', () => this.render());
	}

	columns() {
		const delta = { id: 'delta', name: 'Δ total' };
		return [{ id: 'self', name: 'Self' }, { id: 'total', name: 'Total' }, ...(this.tree.isDiff ? [delta] : []),
			{ id: 'name', name: 'Function' }];
	}

	setTree(tree) {
		this.tree = tree;
		const sums = this.sums = tree.sumFunctions();
		const share = (part, all) => all ? part / all : 0;
		this.all = tree.data.functions
			.map((f, id) => ({ id, name: f.name, self: sums.self[id], total: sums.total[id],
				delta: share(sums.total[id], tree.total[0]) - share(sums.baseTotal[id], tree.baseTotal[0]) }))
			.filter(row => row.total > 0 || sums.baseTotal[row.id] > 0);
		if (tree.isDiff && !this.wasDiff)
			this.sort = 'delta';
		this.wasDiff = tree.isDiff;
		this.update();
	}

	setMatches(matches) {
		this.matches = matches;
		this.update();
	}

	sortBy(id) {
		this.isDescending = this.sort === id ? !this.isDescending : id !== 'name';
		this.sort = id;
		this.update();
	}

	update() {
		const { sort } = this, sign = this.isDescending ? -1 : 1;
		const compare = {
			name: (a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0,
			delta: (a, b) => this.isDescending ? Math.abs(a.delta) - Math.abs(b.delta) : a.delta - b.delta,
		}[sort] || ((a, b) => a[sort] - b[sort]);
		this.rows = this.matches ? this.all.filter(row => this.matches[row.id]) : this.all.slice();
		this.rows.sort((a, b) => sign * compare(a, b) || b.total - a.total || a.id - b.id);
		this.renderHead();
		this.spacer.style.height = `${this.rows.length * TABLE_ROW}px`;
		this.scroller.scrollTop = 0;
		this.render();
	}

	renderHead() {
		this.head.replaceChildren(...this.columns().map(column => {
			const button = element('button', `cell ${column.id}`, column.name);
			const isSorted = column.id === this.sort;
			button.type = 'button';
			button.setAttribute('role', 'columnheader');
			button.setAttribute('aria-sort', !isSorted ? 'none' : this.isDescending ? 'descending' : 'ascending');
			button.addEventListener('click', () => this.sortBy(column.id));
			return button;
		}));
		this.head.parentElement.classList.toggle('diff', this.tree.isDiff);
	}

	render() {
		if (!this.tree)
			return;
		const from = Math.floor(this.scroller.scrollTop / TABLE_ROW);
		const to = Math.min(this.rows.length, from + Math.ceil(this.scroller.clientHeight / TABLE_ROW) + 1);
		const shown = [];
		for (let i = from; i < to; i++)
			shown.push(this.renderRow(this.rows[i], i));
		this.spacer.replaceChildren(...shown);
	}

	renderRow(row, i) {
		const { tree } = this, f = tree.data.functions[row.id], all = tree.total[0];
		const line = element('div', 'row');
		line.setAttribute('role', 'row');
		line.style.top = `${i * TABLE_ROW}px`;
		line.append(this.share('self', row.self, all), this.share('total', row.total, all));
		if (tree.isDiff) {
			const sign = row.delta > 0 ? '+' : row.delta < 0 ? '−' : '';
			const cell = element('span', `cell delta ${row.delta > 0 ? 'grew' : row.delta < 0 ? 'shrank' : ''}`,
				`${sign}${formatShare(Math.abs(row.delta))}`);
			cell.setAttribute('role', 'cell');
			line.append(cell);
		}
		const name = element('span', 'cell name', row.name.slice(0, MAX_SHOWN_NAME));
		name.setAttribute('role', 'cell');
		const dot = element('span', `dot ${KINDS[f.kind]}`, '');
		name.prepend(dot);
		line.append(name);
		line.addEventListener('click', () => this.onPick(row.id));
		return line;
	}

	share(id, value, all) {
		const cell = element('span', `cell ${id}`, formatShare(all ? value / all : 0));
		const bar = element('span', 'bar', '');
		cell.setAttribute('role', 'cell');
		bar.style.width = `${all ? 100 * value / all : 0}%`;
		cell.append(bar);
		return cell;
	}
}
