// Tasks of one call, and of a few that follow from each other.
import { byId, data } from './shop-data.ts'
import { customerOf, get, sum, type WrittenTask } from './task.ts'

const { invoices, orders, products, tickets } = data
const unpaid = invoices.filter(({ paid }) => !paid)

export const shortTasks: readonly WrittenTask[] = [
  {
    kind: 'one call',
    task: 'What is the status of order O-017?',
    calls: [[get('order', 'O-017')]],
    queries: ['get one order by id'],
    code: `return (await tools.shop.get_order({ id: 'O-017' })).status`,
    returns: byId(orders, 'O-017').status,
    answer: `Order O-017 is ${byId(orders, 'O-017').status}.`,
  },
  {
    kind: 'one call',
    task: 'Remember under the key "colour" that the customer wants blue.',
    calls: [[['kv__set', { key: 'colour', value: 'blue' }]]],
    queries: ['store a value under a key'],
    code: `return tools.kv.set({ key: 'colour', value: 'blue' })`,
    returns: { stored: 'colour' },
    answer: 'I remember it.',
  },
  {
    kind: 'one call',
    task: 'Close ticket T-004: the money is on its way.',
    calls: [[['shop__close_ticket', { ticket: 'T-004', answer: 'The money is on its way.' }]]],
    queries: ['close a ticket'],
    code: `return tools.shop.close_ticket({ ticket: 'T-004', answer: 'The money is on its way.' })`,
    returns: { done: true },
    answer: 'Ticket T-004 is closed.',
  },
  {
    kind: 'one call',
    task: 'Which products come from supplier S-002?',
    calls: [[['shop__list_products', { supplier: 'S-002' }]]],
    queries: ['list products of a supplier'],
    code: `const { rows } = await tools.shop.list_products({ supplier: 'S-002' }); return rows.map(({ name }) => name)`,
    returns: products.filter(({ supplier }) => supplier === 'S-002').map(({ name }) => name),
    answer: 'The chairs, rugs and stools.',
  },
  {
    kind: 'a chain',
    task: 'What is the e-mail address of whoever ordered O-023?',
    calls: [[get('order', 'O-023')], [get('customer', byId(orders, 'O-023').customer)]],
    queries: ['get one order by id', 'get one customer by id'],
    code: `const { customer } = await tools.shop.get_order({ id: 'O-023' })
return (await tools.shop.get_customer({ id: customer })).email`,
    returns: customerOf(byId(orders, 'O-023').customer).email,
    answer: `It is ${customerOf(byId(orders, 'O-023').customer).email}.`,
  },
  {
    kind: 'a chain',
    task: 'How much has the customer with the address ada.1@example.com not paid yet?',
    calls: [
      [['shop__list_customers', { email: 'ada.1@' }]],
      [['shop__list_invoices', { customer: 'C-001', paid: 'false' }]],
    ],
    queries: ['find a customer by e-mail', 'list unpaid invoices of a customer'],
    code: `const { rows: [customer] } = await tools.shop.list_customers({ email: 'ada.1@' })
const { rows } = await tools.shop.list_invoices({ customer: customer.id, paid: 'false' })
return rows.reduce((sum, { amount }) => sum + amount, 0)`,
    returns: sum(unpaid.filter(({ customer }) => customer === 'C-001').map(({ amount }) => amount)),
    answer: 'That is what is open.',
  },
  {
    kind: 'a chain',
    task: 'Raise ticket T-006 to high, and note in the file of its customer that we did.',
    calls: [
      [get('ticket', 'T-006')],
      [
        ['shop__set_ticket_priority', { ticket: 'T-006', priority: 'high' }],
        [
          'shop__add_note',
          { customer: byId(tickets, 'T-006').customer, note: 'Ticket T-006 was raised to high.' },
        ],
      ],
    ],
    queries: ['get one ticket', 'set the priority of a ticket', 'add a note to a customer'],
    code: `const { customer } = await tools.shop.get_ticket({ id: 'T-006' })
await Promise.all([
  tools.shop.set_ticket_priority({ ticket: 'T-006', priority: 'high' }),
  tools.shop.add_note({ customer, note: 'Ticket T-006 was raised to high.' }),
])
return customer`,
    returns: byId(tickets, 'T-006').customer,
    answer: 'Done.',
  },
  {
    kind: 'a chain',
    task: 'Write "Hello" to notes/a.md, read it back, and keep its length under the key "length".',
    calls: [
      [['files__write', { path: 'notes/a.md', text: 'Hello' }]],
      [['files__read', { path: 'notes/a.md' }]],
      [['kv__set', { key: 'length', value: 5 }]],
    ],
    queries: ['write a text file', 'read a text file', 'store a value under a key'],
    code: `await tools.files.write({ path: 'notes/a.md', text: 'Hello' })
const { text } = await tools.files.read({ path: 'notes/a.md' })
await tools.kv.set({ key: 'length', value: text.length })
return text.length`,
    returns: 5,
    answer: 'It has five characters.',
  },
]
