// A shop's back office as a plugin of thirty tools, over tables that are always the same: what the written tasks of
// `npm run bench:code-mode` work on, beside the tools that ship.
import { data } from './shop-data.ts'

const { customers, products, stock, orders, invoices, shipments, tickets, employees, events } = data
const text = (description: string) => ({ type: 'string', minLength: 1, description })
const number = (description: string) => ({ type: 'integer', minimum: 0, description })

interface ShopTool {
  readonly name: string
  readonly description: string
  readonly properties: Readonly<Record<string, object>>
  readonly required?: readonly string[]
  /** Of its output, by example; `rows` is a list of such. */
  readonly answers?: object
  /** The body of its function over `data` and `input`. */
  readonly body: string
}

const getOne = (what: string, table: keyof typeof data, example: object): ShopTool => ({
  name: `get_${what}`,
  description: `Get one ${what} by its id, with all its fields.`,
  properties: { id: text(`The id of the ${what}.`) },
  required: ['id'],
  answers: example,
  body:
    `const row = data.${table}.find((one) => (one.id ?? one.product) === input.id); if (!row) throw new ` +
    `ToolError('tool_failed', { message: 'There is none.' }); return row`,
})
const listOf = (
  table: keyof typeof data,
  about: string,
  {
    filters,
    example,
  }: { readonly filters: Readonly<Record<string, string>>; readonly example: object },
): ShopTool => ({
  name: `list_${table}`,
  description: `List ${table}${about}, in the order of their ids.`,
  properties: {
    ...Object.fromEntries(Object.entries(filters).map(([name, told]) => [name, text(told)])),
    limit: number('How many at most, 100 by default.'),
    offset: number('How many to leave out at the beginning, 0 by default.'),
  },
  answers: { rows: [example], total: 1 },
  body: `const rows = data.${table}.filter((row) => ${
    Object.keys(filters)
      .map(
        (name) => `(input.${name} === undefined || String(row.${name}).startsWith(input.${name}))`,
      )
      .join(' && ') || 'true'
  }); const from = input.offset ?? 0; return { rows: rows.slice(from, from + (input.limit ?? 100)), total: rows.length }`,
})
const effect = (
  name: string,
  description: string,
  properties: Readonly<Record<string, object>>,
): ShopTool => ({
  name,
  description,
  properties,
  required: Object.keys(properties),
  answers: { done: true },
  body: 'return { done: true }',
})

const shopTools: readonly ShopTool[] = [
  getOne('customer', 'customers', customers[0]!),
  getOne('product', 'products', products[0]!),
  getOne('order', 'orders', orders[0]!),
  getOne('invoice', 'invoices', invoices[0]!),
  getOne('shipment', 'shipments', shipments[0]!),
  getOne('ticket', 'tickets', tickets[0]!),
  getOne('employee', 'employees', employees[0]!),
  getOne('stock', 'stock', stock[0]!),
  listOf('customers', ' of a city', {
    filters: { city: 'Only of this city.', email: 'Only with an address that begins so.' },
    example: customers[0]!,
  }),
  listOf('products', ' of a supplier', {
    filters: { supplier: 'Only of this supplier, such as S-001.' },
    example: products[0]!,
  }),
  listOf('orders', ' by status, day or customer', {
    filters: {
      status: 'open, shipped or delivered.',
      date: 'Only of days that begin so, such as 2026-03.',
      customer: 'Only of the customer with this id.',
    },
    example: orders[0]!,
  }),
  listOf('invoices', ' by customer or whether they are paid', {
    filters: { customer: 'Only of the customer with this id.', paid: 'true or false.' },
    example: invoices[0]!,
  }),
  listOf('shipments', ' by status or carrier', {
    filters: { status: 'late, on time or arrived.', carrier: 'Only of this carrier.' },
    example: shipments[0]!,
  }),
  listOf('tickets', ' by priority or whether they are open', {
    filters: { priority: 'low, normal or high.', isOpen: 'true or false.' },
    example: tickets[0]!,
  }),
  listOf('employees', ' of a team', {
    filters: { team: 'sales or stock.' },
    example: employees[0]!,
  }),
  listOf('events', ' in the calendar of an employee', {
    filters: { employee: 'Only of the employee with this id.' },
    example: events[0]!,
  }),
  effect('set_order_status', 'Set the status of an order.', {
    order: text('The id of the order.'),
    status: { type: 'string', enum: ['open', 'shipped', 'delivered'] },
  }),
  effect('set_ticket_priority', 'Set the priority of a ticket.', {
    ticket: text('The id of the ticket.'),
    priority: { type: 'string', enum: ['low', 'normal', 'high'] },
  }),
  effect('close_ticket', 'Close a ticket with a last answer.', {
    ticket: text('The id of the ticket.'),
    answer: text('What the customer is told.'),
  }),
  effect('answer_ticket', 'Answer a ticket and leave it open.', {
    ticket: text('The id of the ticket.'),
    answer: text('What the customer is told.'),
  }),
  effect('order_stock', 'Order more of a product from its supplier.', {
    product: text('The id of the product.'),
    count: number('How many.'),
  }),
  effect('move_stock', 'Move some of a product from one warehouse to the other.', {
    product: text('The id of the product.'),
    count: number('How many.'),
    to: { type: 'string', enum: ['north', 'south'] },
  }),
  effect('set_price', 'Set the price of a product.', {
    product: text('The id of the product.'),
    price: number('In euros.'),
  }),
  effect('mark_paid', 'Mark an invoice as paid.', { invoice: text('The id of the invoice.') }),
  effect('remind', 'Send a reminder about an invoice to its customer.', {
    invoice: text('The id of the invoice.'),
    text: text('What the reminder says.'),
  }),
  effect('add_event', 'Add an event to the calendar of an employee.', {
    employee: text('The id of the employee.'),
    title: text('What it is.'),
    from: number('The hour at which it begins.'),
    until: number('The hour at which it ends.'),
  }),
  effect('cancel_order', 'Cancel an order that is still open.', {
    order: text('The id of the order.'),
  }),
  effect('create_label', 'Create a shipping label for an order.', {
    order: text('The id of the order.'),
    carrier: text('Blue or Red.'),
  }),
  effect('add_note', 'Add a note to the file of a customer.', {
    customer: text('The id of the customer.'),
    note: text('The note.'),
  }),
  effect('subscribe', 'Subscribe a customer to the newsletter, or take them off.', {
    customer: text('The id of the customer.'),
    wanted: { type: 'boolean', description: 'false takes them off.' },
  }),
]

/** A schema of values like this one. */
function schemaOf(value: unknown): object {
  if (Array.isArray(value)) return { type: 'array', items: schemaOf(value[0]) }
  if (typeof value !== 'object' || value === null) return { type: typeof value }
  const properties = Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, schemaOf(one)]),
  )
  return { type: 'object', properties, required: Object.keys(properties) }
}

/** The plugin `shop` as an uploaded bundle. Its tools read nothing outside, so that no label asks for an approval. */
export const shopBundle = {
  manifest: {
    id: 'shop',
    name: 'Shop',
    version: '1.0.0',
    entrypoint: 'main.js',
    description: 'The back office of a shop.',
    contributes: {
      tools: shopTools.map(({ name, description, properties, required, answers }) => ({
        name,
        description,
        input_schema: {
          type: 'object',
          properties,
          ...(required && { required }),
          additionalProperties: false,
        },
        ...(answers && { output_schema: schemaOf(answers) }),
      })),
    },
  },
  code: `import { ToolError } from 'isola/plugin'
const data = ${JSON.stringify(data)}
export default () => ({ tools: {
${shopTools.map(({ name, body }) => `${name}: async (input) => { ${body} },`).join('\n')}
} })`,
  files: {},
}
