// Tasks that do the same to many, and that put together what several tools say.
import { byId, data } from './shop-data.ts'
import { customerOf, get, sum, type WrittenTask } from './task.ts'

const { customers, orders, invoices, shipments, tickets, stock, products, employees, events } = data
const unique = (values: readonly string[]): readonly string[] => [...new Set(values)]

const five = orders.slice(4, 9)
const low = stock.filter(({ count, minimum }) => count < minimum)
const high = tickets.filter(({ priority }) => priority === 'high')
const unpaid = invoices.filter(({ paid }) => !paid)
const late = shipments.filter(({ status, carrier }) => status === 'late' && carrier === 'Blue')
const march = orders.filter(({ date }) => date.startsWith('2026-03'))
const ofMarch = unique(march.map(({ customer }) => customer))
const busiest = customers
  .map(({ id, name }) => ({
    name,
    spent: sum(orders.filter((order) => order.customer === id).map(({ total }) => total)),
  }))
  .toSorted((a, b) => b.spent - a.spent || (a.name < b.name ? -1 : 1))
  .slice(0, 3)
const sales = employees.filter(({ team }) => team === 'sales')
const taken = new Set(
  sales.flatMap(({ id }) => events.filter((one) => one.employee === id).map(({ from }) => from)),
)
const freeHour = [8, 9, 10, 11, 12, 13, 14, 15, 16, 17].find((hour) => !taken.has(hour)) ?? null
const report = [
  'city,customers,revenue',
  ...unique(customers.map(({ city }) => city)).map((city) => {
    const there = customers.filter((one) => one.city === city).map(({ id }) => id)
    const revenue = sum(
      orders.filter(({ customer }) => there.includes(customer)).map(({ total }) => total),
    )
    return `${city},${there.length},${revenue}`
  }),
].join('\n')
const perProduct = products
  .map(({ id, name }) => ({
    name,
    sold: sum(
      orders.flatMap(({ lines }) =>
        lines.filter(({ product }) => product === id).map(({ count }) => count),
      ),
    ),
  }))
  .toSorted((a, b) => b.sold - a.sold || (a.name < b.name ? -1 : 1))
const words = ['red', 'green', 'blue', 'black', 'white', 'grey', 'pink', 'brown', 'gold', 'silver']
const chapters = [1, 2, 3, 4, 5, 6].map((at) => ({
  path: `book/chapter-${at}.md`,
  text: `# Chapter ${at}\n\n${'Once there was a lamp of oak. '.repeat(at * 6)}`,
}))
const lengthOf = (text: string) => text.split(' ').length

export const longTasks: readonly WrittenTask[] = [
  {
    kind: 'a loop',
    task: `What do the orders ${five.map(({ id }) => id).join(', ')} come to together?`,
    calls: [five.map(({ id }) => get('order', id))],
    queries: ['get one order by id'],
    code: `const ids = ${JSON.stringify(five.map(({ id }) => id))}
const orders = await Promise.all(ids.map((id) => tools.shop.get_order({ id })))
return orders.reduce((sum, { total }) => sum + total, 0)`,
    returns: sum(five.map(({ total }) => total)),
    answer: `Together ${sum(five.map(({ total }) => total))} euros.`,
  },
  {
    kind: 'a loop',
    task: 'Which products have fewer in stock than the minimum? Order twenty of each.',
    calls: [
      [['shop__list_products', {}]],
      products.map(({ id }) => get('stock', id)),
      low.map(({ product }) => ['shop__order_stock', { product, count: 20 }] as const),
    ],
    queries: ['list products', 'stock of a product', 'order more of a product'],
    code: `const { rows } = await tools.shop.list_products()
const stock = await Promise.all(rows.map(({ id }) => tools.shop.get_stock({ id })))
const low = stock.filter(({ count, minimum }) => count < minimum)
await Promise.all(low.map(({ product }) => tools.shop.order_stock({ product, count: 20 })))
return low.map(({ product }) => product)`,
    returns: low.map(({ product }) => product),
    answer: `Ordered twenty of ${low.map(({ product }) => product).join(', ')}.`,
  },
  {
    kind: 'a loop',
    task: `Keep how long each of these words is, each under its own key: ${words.join(', ')}.`,
    calls: [words.map((word) => ['kv__set', { key: word, value: word.length }] as const)],
    queries: ['store a value under a key'],
    code: `const words = ${JSON.stringify(words)}
await Promise.all(words.map((key) => tools.kv.set({ key, value: key.length })))
return words.length`,
    returns: words.length,
    answer: 'All ten are kept.',
  },
  {
    kind: 'a loop',
    task: 'Answer every open ticket of high priority: "We look at it today."',
    calls: [
      [['shop__list_tickets', { priority: 'high', isOpen: 'true' }]],
      high
        .filter(({ isOpen }) => isOpen)
        .map(({ id }) => ['shop__answer_ticket', { ticket: id, answer: 'We look at it today.' }]),
    ],
    queries: ['list open tickets by priority', 'answer a ticket'],
    code: `const { rows } = await tools.shop.list_tickets({ priority: 'high', isOpen: 'true' })
await Promise.all(rows.map(({ id }) => tools.shop.answer_ticket({ ticket: id, answer: 'We look at it today.' })))
return rows.map(({ id }) => id)`,
    returns: high.filter(({ isOpen }) => isOpen).map(({ id }) => id),
    answer: 'They are answered.',
  },
  {
    kind: 'a loop',
    task: 'Remind everybody of each unpaid invoice: "Please pay within a week."',
    calls: [
      [['shop__list_invoices', { paid: 'false' }]],
      unpaid.map(({ id }) => ['shop__remind', { invoice: id, text: 'Please pay within a week.' }]),
    ],
    queries: ['list unpaid invoices', 'send a reminder about an invoice'],
    code: `const { rows } = await tools.shop.list_invoices({ paid: 'false' })
await Promise.all(rows.map(({ id }) => tools.shop.remind({ invoice: id, text: 'Please pay within a week.' })))
return rows.length`,
    returns: unpaid.length,
    answer: `${unpaid.length} reminders are sent.`,
  },
  {
    kind: 'a loop',
    task:
      `Write ${chapters.length} chapters "Once there was a lamp of oak. " (six times more in each, with ` +
      'its heading), then count the words of each file.',
    calls: [
      chapters.map((chapter) => ['files__write', chapter] as const),
      chapters.map(({ path }) => ['files__read', { path }] as const),
    ],
    queries: ['write a text file', 'read a text file'],
    code: `const counts = []
for (let at = 1; at <= 6; at += 1) {
  const path = \`book/chapter-\${at}.md\`
  await tools.files.write({ path, text: \`# Chapter \${at}\\n\\n\${'Once there was a lamp of oak. '.repeat(at * 6)}\` })
  counts.push((await tools.files.read({ path })).text.split(' ').length)
}
return counts`,
    returns: chapters.map(({ text }) => lengthOf(text)),
    answer: `They have ${chapters.map(({ text }) => lengthOf(text)).join(', ')} words.`,
  },
  {
    kind: 'a join',
    task: 'Who ordered in March 2026? Name and city of each, once.',
    calls: [[['shop__list_orders', { date: '2026-03' }]], ofMarch.map((id) => get('customer', id))],
    queries: ['list orders by day', 'get one customer by id'],
    code: `const { rows } = await tools.shop.list_orders({ date: '2026-03' })
const ids = [...new Set(rows.map(({ customer }) => customer))]
const customers = await Promise.all(ids.map((id) => tools.shop.get_customer({ id })))
return customers.map(({ name, city }) => [name, city])`,
    returns: ofMarch.map(customerOf).map(({ name, city }) => [name, city]),
    answer: ofMarch.map((id) => customerOf(id).name).join(', '),
  },
  {
    kind: 'a join',
    task: 'Which addresses have unpaid invoices of more than 300 euros? Note them.',
    calls: [
      [['shop__list_invoices', { paid: 'false' }]],
      unique(unpaid.filter(({ amount }) => amount > 300).map(({ customer }) => customer)).map(
        (id) => get('customer', id),
      ),
      [['memory__note', { text: noteOfUnpaid() }]],
    ],
    queries: ['list unpaid invoices', 'get one customer by id', 'note a text'],
    code: `const { rows } = await tools.shop.list_invoices({ paid: 'false' })
const ids = [...new Set(rows.filter(({ amount }) => amount > 300).map(({ customer }) => customer))]
const customers = await Promise.all(ids.map((id) => tools.shop.get_customer({ id })))
const emails = customers.map(({ email }) => email)
await tools.memory.note({ text: \`Unpaid, more than 300: \${emails.join(', ')}\` })
return emails`,
    returns: emailsOfUnpaid(),
    answer: noteOfUnpaid(),
  },
  {
    kind: 'a join',
    task: 'Whose orders are late with the carrier Blue? Name and order of each.',
    calls: [
      [['shop__list_shipments', { status: 'late', carrier: 'Blue' }]],
      late.map(({ order }) => get('order', order)),
      unique(late.map(({ order }) => byId(orders, order).customer)).map((id) =>
        get('customer', id),
      ),
    ],
    queries: ['list late shipments of a carrier', 'get one order by id', 'get one customer by id'],
    code: `const { rows } = await tools.shop.list_shipments({ status: 'late', carrier: 'Blue' })
const orders = await Promise.all(rows.map(({ order }) => tools.shop.get_order({ id: order })))
const ids = [...new Set(orders.map(({ customer }) => customer))]
const names = new Map((await Promise.all(ids.map((id) => tools.shop.get_customer({ id })))).map(({ id, name }) => [id, name]))
return orders.map(({ id, customer }) => [names.get(customer), id])`,
    returns: late.map(({ order }) => [customerOf(byId(orders, order).customer).name, order]),
    answer: late.map(({ order }) => customerOf(byId(orders, order).customer).name).join(', '),
  },
  {
    kind: 'a join',
    task: 'Which three customers spent most, and how much?',
    calls: [
      [
        ['shop__list_orders', {}],
        ['shop__list_customers', {}],
      ],
    ],
    queries: ['list orders', 'list customers'],
    code: `const [orders, customers] = await Promise.all([tools.shop.list_orders(), tools.shop.list_customers()])
const spent = customers.rows.map(({ id, name }) => ({
  name,
  spent: orders.rows.filter(({ customer }) => customer === id).reduce((sum, { total }) => sum + total, 0),
}))
return spent.sort((a, b) => b.spent - a.spent || (a.name < b.name ? -1 : 1)).slice(0, 3)`,
    returns: busiest,
    answer: busiest.map(({ name, spent }) => `${name}: ${spent}`).join(', '),
  },
  {
    kind: 'a join',
    task: 'At which full hour from 8 to 17 is the whole sales team free? What were the two goods sold most?',
    calls: [
      [
        ['shop__list_employees', { team: 'sales' }],
        ['shop__list_orders', {}],
        ['shop__list_products', {}],
      ],
      sales.map(({ id }) => ['shop__list_events', { employee: id }] as const),
    ],
    queries: ['list employees of a team', 'events in a calendar', 'list orders', 'list products'],
    code: `const [{ rows: team }, orders, products] = await Promise.all([tools.shop.list_employees({ team: 'sales' }), tools.shop.list_orders(), tools.shop.list_products()])
const calendars = await Promise.all(team.map(({ id }) => tools.shop.list_events({ employee: id })))
const taken = new Set(calendars.flatMap(({ rows }) => rows.map(({ from }) => from)))
const free = [8, 9, 10, 11, 12, 13, 14, 15, 16, 17].find((hour) => !taken.has(hour)) ?? null
const lines = orders.rows.flatMap((order) => order.lines)
const sold = products.rows.map(({ id, name }) => ({ name, sold: lines.filter(({ product }) => product === id).reduce((sum, { count }) => sum + count, 0) }))
return { free, sold: sold.sort((a, b) => b.sold - a.sold || (a.name < b.name ? -1 : 1)).slice(0, 2) }`,
    returns: { free: freeHour, sold: perProduct.slice(0, 2) },
    answer: `${freeHour ?? 'None'}; ${perProduct[0]!.name} and ${perProduct[1]!.name}.`,
  },
  {
    kind: 'a join',
    task: 'Write reports/cities.csv: for each city how many customers it has, and their revenue.',
    calls: [
      [
        ['shop__list_customers', {}],
        ['shop__list_orders', {}],
      ],
      [['files__write', { path: 'reports/cities.csv', text: report }]],
    ],
    queries: ['list customers', 'list orders', 'write a text file'],
    code: `const [customers, orders] = await Promise.all([tools.shop.list_customers(), tools.shop.list_orders()])
const cities = [...new Set(customers.rows.map(({ city }) => city))]
const lines = cities.map((city) => {
  const there = customers.rows.filter((one) => one.city === city).map(({ id }) => id)
  const revenue = orders.rows.filter(({ customer }) => there.includes(customer)).reduce((sum, { total }) => sum + total, 0)
  return \`\${city},\${there.length},\${revenue}\`
})
const text = ['city,customers,revenue', ...lines].join('\\n')
await tools.files.write({ path: 'reports/cities.csv', text })
return text`,
    returns: report,
    answer: 'The report is written.',
  },
]

function emailsOfUnpaid(): readonly string[] {
  const more = unpaid.filter(({ amount }) => amount > 300).map(({ customer }) => customer)
  return unique(more).map((id) => customerOf(id).email)
}

function noteOfUnpaid(): string {
  return `Unpaid, more than 300: ${emailsOfUnpaid().join(', ')}`
}
