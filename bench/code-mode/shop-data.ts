// The tables of the shop, always the same.

const cities = ['Lyon', 'Porto', 'Graz', 'Turku', 'Gdansk', 'Bruges']
const names = ['Ada', 'Ben', 'Cleo', 'Dan', 'Eva', 'Finn', 'Gita', 'Hugo', 'Ines', 'Jan']
const goods = ['lamp', 'chair', 'desk', 'shelf', 'mirror', 'rug', 'clock', 'vase', 'stool', 'tray']
const range = (count: number) => Array.from({ length: count }, (_, at) => at)
const of = <T>(list: readonly T[], at: number): T => list[at % list.length]!
const id = (prefix: string, at: number) => `${prefix}-${String(at + 1).padStart(3, '0')}`
const day = (at: number) =>
  `2026-${String(1 + (at % 3)).padStart(2, '0')}-${String(1 + ((at * 7) % 28)).padStart(2, '0')}`

const customers = range(30).map((at) => ({
  id: id('C', at),
  name: `${of(names, at)} ${of(cities, at)}`,
  email: `${of(names, at).toLowerCase()}.${at + 1}@example.com`,
  city: of(cities, at),
  address: { street: `Market street ${at + 1}`, postcode: String(10_000 + at * 37) },
  since: day(at),
  newsletter: at % 2 === 0,
}))
const products = range(20).map((at) => ({
  id: id('P', at),
  name: `${of(goods, at)} ${at < 10 ? 'small' : 'large'}`,
  price: 10 + ((at * 13) % 90),
  supplier: id('S', at % 4),
  description: `A ${of(goods, at)} of oak, made to order, ${at < 10 ? 'small' : 'large'}.`,
}))
const stock = products.map((product, at) => ({
  product: product.id,
  count: (at * 11) % 40,
  minimum: 12,
  warehouse: of(['north', 'south'], at),
}))
const orders = range(45).map((at) => ({
  id: id('O', at),
  customer: id('C', (at * 7) % 30),
  date: day(at),
  status: of(['open', 'shipped', 'delivered'], at),
  lines: range(1 + (at % 3)).map((line) => ({
    product: id('P', (at * 3 + line) % 20),
    count: 1 + ((at + line) % 4),
  })),
  total: range(1 + (at % 3)).reduce(
    (sum, line) => sum + of(products, (at * 3 + line) % 20).price * (1 + ((at + line) % 4)),
    0,
  ),
}))
const invoices = orders.map((order, at) => ({
  id: id('I', at),
  order: order.id,
  customer: order.customer,
  amount: order.total,
  due: day(at + 1),
  paid: at % 4 !== 0,
}))
const shipments = orders.map((order, at) => ({
  id: id('H', at),
  order: order.id,
  carrier: of(['Blue', 'Red'], at),
  status: of(['late', 'on time', 'arrived'], at),
  stops: range(3).map((stop) => ({
    place: of(cities, at + stop),
    at: `${day(at)}T0${stop + 6}:00`,
  })),
}))
const tickets = range(16).map((at) => ({
  id: id('T', at),
  customer: id('C', (at * 5) % 30),
  subject: `About order ${id('O', at)}`,
  text: `Good day, my ${of(goods, at)} came ${at % 2 === 0 ? 'broken' : 'late'}. What can be done? Kind regards. `.repeat(
    2,
  ),
  priority: of(['low', 'normal', 'high'], at),
  isOpen: at % 4 !== 3,
}))
const employees = range(8).map((at) => ({
  id: id('E', at),
  name: of(names, at + 3),
  team: of(['sales', 'stock'], at),
}))
const events = employees.flatMap((employee, who) =>
  range(4).map((at) => ({
    employee: employee.id,
    title: `Meeting ${at + 1}`,
    from: 8 + ((who + at * 2) % 9),
    until: 9 + ((who + at * 2) % 9),
    room: `Room ${of(['A', 'B', 'C'], at)}`,
  })),
)

export const data = {
  customers,
  products,
  stock,
  orders,
  invoices,
  shipments,
  tickets,
  employees,
  events,
}

/** The row with this id, for tasks that know which it will be. */
export const byId = <T extends { readonly id: string }>(table: readonly T[], wanted: string): T =>
  table.find((row) => row.id === wanted)!
