// SPDX-License-Identifier: Apache-2.0
// shop.js SECONDS: a small web shop and its customers in one process, whose flame graph is docs/flame-graph.png.
const http = require('http');
const goods = Array.from({ length: 300 }, (_, id) => ({ id, name: 'item ' + (id * 7919) % 300, cents: (id * 131) % 9000 }));

const words = Array.from({ length: 30 }, (_, nr) => new RegExp('^item.*' + nr, 'i'));

function parseQuery(url) { return new URL(url, 'http://shop').searchParams; }
function findGoods(word) { return goods.filter((item) => words[word].test(item.name)); }
function sortByName(items) { return items.sort((a, b) => a.name.localeCompare(b.name)); }
function sortByPrice(items) { return items.sort((a, b) => a.cents - b.cents || b.id - a.id); }
function formatPrice(cents) { return (cents / 100).toFixed(2) + ' EUR'; }
function renderRow(item) { return `<li id="${item.id}">${item.name}: ${formatPrice(item.cents)}</li>`; }
function renderPage(items) { return '<ul>' + items.map(renderRow).join('\n') + '</ul>'; }
function renderJson(items) { return JSON.stringify({ found: items.length, items }); }

function search(request, response) {
  const query = parseQuery(request.url);
  const items = findGoods(query.get('word'));
  const sorted = query.get('sort') === 'name' ? sortByName(items) : sortByPrice(items);
  response.end(query.get('as') === 'json' ? renderJson(sorted) : renderPage(sorted));
}

const end = Date.now() + 1000 * process.argv[2];
const server = http.createServer(search).listen(0, '127.0.0.1', () => {
  const agent = new http.Agent({ keepAlive: true });
  const ask = (nr) => {
    const path = `/?word=${nr % 30}&sort=${nr % 3 ? 'price' : 'name'}&as=${nr % 2 ? 'json' : 'html'}`;
    http.get({ port: server.address().port, agent, path }, (answer) => {
      answer.resume().on('end', () => (Date.now() < end ? ask(nr + 4) : process.exit()));
    });
  };
  for (let nr = 0; nr < 4; nr++) ask(nr);
});
