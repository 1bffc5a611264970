import { formats, type Format } from './formats.ts'
import type { Draw } from './draw.ts'

/** A tool that answers in one format; `argument` is the name of what it is asked for. */
export interface Reader {
  readonly tool: string
  readonly argument: string
  readonly format: Format
}

/** What an id of a domain is called and looks like. */
export interface IdForm {
  readonly form: string
  readonly make: (draw: Draw) => string
}

/** One line of work: what the agent is told it is, what it reads, what it changes after an approval. */
export interface Domain {
  readonly name: string
  readonly role: string
  readonly readers: readonly Reader[]
  /** A call that has to be approved: tool and the name of its argument. */
  readonly act: readonly [string, string]
  readonly ids: readonly IdForm[]
}

const commit: IdForm = { form: 'commit', make: (d) => d.hex(40) }
const sha256: IdForm = { form: 'sha256', make: (d) => d.hex(64) }
const uuid: IdForm = {
  form: 'uuid',
  make: (d) => `${d.hex(8)}-${d.hex(4)}-4${d.hex(3)}-a${d.hex(3)}-${d.hex(12)}`,
}
const path: IdForm = {
  form: 'path',
  make: (d) => `src/${d.slug(5)}/${d.slug(7)}-${d.slug(4)}.${d.pick(['ts', 'py', 'go', 'sql'])}`,
}
const url: IdForm = {
  form: 'url',
  make: (d) => `https://${d.slug(7)}.example/${d.slug(5)}/${d.digits(6)}?v=${d.int(2, 99)}`,
}
const key: IdForm = {
  form: 'key',
  make: (d) => `s3://${d.slug(6)}-archive/2027/${d.slug(10)}.parquet`,
}
const order: IdForm = { form: 'order', make: (d) => `ORD-${d.digits(4)}-${d.code(6)}` }
const invoice: IdForm = { form: 'invoice', make: (d) => `RE/2027/${d.digits(7)}` }
const booking: IdForm = { form: 'booking', make: (d) => `PNR ${d.code(6)}` }
const traceId: IdForm = { form: 'trace', make: (d) => d.hex(32) }
const host: IdForm = {
  form: 'host',
  make: (d) =>
    `ip-10-${d.int(10, 250)}-${d.int(10, 250)}-${d.int(10, 250)}.internal:${d.digits(5)}`,
}
const relation: IdForm = { form: 'table', make: (d) => `stg.${d.slug(6)}_${d.digits(6)}_tmp` }
const entity: IdForm = { form: 'entity', make: (d) => `sensor.${d.slug(5)}_${d.slug(6)}` }
const iban: IdForm = {
  form: 'account',
  make: (d) => `DE${d.digits(2)} ${d.digits(4)} ${d.digits(4)} ${d.digits(4)}`,
}
const docket: IdForm = { form: 'docket', make: (d) => `${d.int(1, 12)} O ${d.digits(5)}/27` }

const reader = (tool: string, argument: string, format: Format): Reader => ({
  tool,
  argument,
  format,
})
const { code, log, tests, stack, records, csv, html, page, clauses, table, states, diff } = formats

export const domains: readonly Domain[] = [
  {
    name: 'coding',
    role: 'You change a large code base and run its tests.',
    act: ['git__push', 'ref'],
    ids: [commit, path, sha256],
    readers: [
      reader('files__read', 'path', code),
      reader('shell__run', 'command', tests),
      reader('git__diff', 'range', diff),
    ],
  },
  {
    name: 'debugging',
    role: 'You find out why a service fails.',
    act: ['deploy__restart', 'service'],
    ids: [path, traceId, commit],
    readers: [
      reader('traces__get', 'trace', stack),
      reader('files__read', 'path', code),
      reader('logs__query', 'query', log),
    ],
  },
  {
    name: 'support',
    role: 'You answer customers of a shop.',
    act: ['orders__refund', 'order'],
    ids: [order, uuid, url],
    readers: [reader('orders__search', 'customer', records), reader('help__page', 'slug', page)],
  },
  {
    name: 'research',
    role: 'You read what the web has and compare sources.',
    act: ['mail__send', 'to'],
    ids: [url, uuid],
    readers: [
      reader('http__get', 'url', html),
      reader('web__search', 'query', records),
      reader('web__read', 'url', page),
    ],
  },
  {
    name: 'data cleaning',
    role: 'You clean tables that others filled in.',
    act: ['files__overwrite', 'path'],
    ids: [key, path, sha256],
    readers: [reader('files__read', 'path', csv), reader('python__run', 'script', log)],
  },
  {
    name: 'incident',
    role: 'You are on call and look for what broke.',
    act: ['fleet__drain', 'host'],
    ids: [host, traceId, uuid],
    readers: [
      reader('logs__query', 'query', log),
      reader('metrics__range', 'series', table),
      reader('traces__get', 'trace', stack),
    ],
  },
  {
    name: 'travel',
    role: 'You book journeys within a budget.',
    act: ['booking__pay', 'offer'],
    ids: [booking, uuid, url],
    readers: [reader('flights__search', 'route', records), reader('hotels__page', 'url', html)],
  },
  {
    name: 'sql',
    role: 'You answer questions from a warehouse.',
    act: ['sql__write', 'statement'],
    ids: [relation, key],
    readers: [reader('sql__query', 'statement', table), reader('sql__explain', 'statement', log)],
  },
  {
    name: 'legal',
    role: 'You review contracts and name what is missing.',
    act: ['files__sign', 'document'],
    ids: [docket, sha256, path],
    readers: [
      reader('documents__read', 'document', clauses),
      reader('documents__search', 'query', page),
    ],
  },
  {
    name: 'home',
    role: 'You look after the devices of a house.',
    act: ['lock__open', 'door'],
    ids: [entity, uuid],
    readers: [reader('home__states', 'area', states), reader('home__history', 'entity', csv)],
  },
  {
    name: 'finance',
    role: 'You reconcile payments with invoices.',
    act: ['bank__transfer', 'reference'],
    ids: [invoice, iban, uuid],
    readers: [
      reader('bank__statement', 'month', csv),
      reader('invoices__list', 'vendor', records),
      reader('ledger__query', 'statement', table),
    ],
  },
  {
    name: 'operations',
    role: 'You run releases of many services.',
    act: ['release__promote', 'version'],
    ids: [commit, host, sha256],
    readers: [
      reader('ci__log', 'job', log),
      reader('registry__list', 'image', records),
      reader('git__diff', 'range', diff),
    ],
  },
  {
    name: 'editorial',
    role: 'You edit pages in several languages.',
    act: ['site__publish', 'page'],
    ids: [url, uuid, path],
    readers: [
      reader('site__page', 'page', html),
      reader('site__search', 'query', page),
      reader('site__list', 'folder', states),
    ],
  },
]
