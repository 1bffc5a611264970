import { describe, expect, it } from 'vitest'
import type { NamedId } from '#contracts/context.ts'
import { identifiersIn, maxIds, namedIds } from '../../../src/runtime/context/identifiers.ts'
import { answer, calls, says, user } from '../../fakes/context.ts'

describe('what looks like an identifier', () => {
  it.each([
    ['see https://isola.example/a?b=1, please.', ['https://isola.example/a?b=1']],
    ['write to ada@example.com!', ['ada@example.com']],
    ['open /srv/billing/table.sql or ./notes', ['/srv/billing/table.sql', './notes']],
    ['INV-4711 of CUST-40017 (7000)', ['INV-4711', 'CUST-40017', '7000']],
    [
      'customer_orders, retries=3, report.md, ACME-PROD',
      ['customer_orders', 'retries=3', 'report.md', 'ACME-PROD'],
    ],
  ] as const)('is found by its shape: %s', (text, ids) => {
    expect(identifiersIn(text)).toEqual(ids)
  })

  it.each([
    'and/or',
    'well-known',
    'No. 12, p. 7',
    'e.g. now, i.e. then: at 9:30',
    'Done... -- ok?',
  ])('is no plain word, nor a short number: %s', (text) => {
    expect(identifiersIn(text)).toEqual([])
  })
})

describe('the identifiers of what leaves', () => {
  const idsOf = (...args: Parameters<typeof namedIds>) => namedIds(...args).map(({ id }) => id)

  it('are first those that were worked with, then the user’s own, then the newest', () => {
    const messages = [
      answer('a', 'CUST-1001 CUST-1002 CUST-1003 CUST-1004'),
      user('Take CUST-2001.'),
      calls('b', 'crm__open', { id: 'CUST-1003' }),
      answer('b', 'CUST-3001'),
      calls('c', 'crm__open', { id: 'CUST-1002' }),
      answer('c', 'CUST-3002'),
      says('I note CUST-4001.'),
    ]
    const [first, second, third, ...rest] = idsOf(messages, messages.length)
    // Named again by a later step, the latest first.
    expect([first, second]).toEqual(['CUST-1002', 'CUST-1003'])
    expect(third).toBe('CUST-2001')
    // An id that was named once was not worked with, whether the model or a tool named it.
    expect(rest.slice(0, 3)).toEqual(['CUST-4001', 'CUST-3002', 'CUST-3001'])
    expect(new Set(rest.slice(3))).toEqual(new Set(['CUST-1001', 'CUST-1004']))
  })

  it('are by when they were named last where only tools named them', () => {
    const messages = [
      answer('a', 'CUST-1001 CUST-1002'),
      answer('b', 'CUST-2001'),
      answer('c', 'CUST-1001'),
    ]
    expect(idsOf(messages, 3)).toEqual(['CUST-1001', 'CUST-2001', 'CUST-1002'])
  })

  it('name the tools that brought them, and only of messages that leave', () => {
    const messages = [answer('a', 'CUST-1001', 'crm__find'), user('CUST-1001 and CUST-2001?')]
    expect(namedIds(messages, 1)).toEqual([{ id: 'CUST-1001', source: 'crm__find' }])
  })

  const earlier: readonly NamedId[] = Array.from({ length: 60 }, (_, index) => ({
    id: `OLD-${index + 1_000}`,
    source: 'user',
  }))

  it('have those of earlier compactions after them, once each', () => {
    const messages = [user('OLD-1003 and CUST-1001')]
    const ids = idsOf(messages, 1, earlier)
    expect(ids.slice(0, 3)).toEqual(['OLD-1003', 'CUST-1001', 'OLD-1000'])
    expect(ids).toHaveLength(61)
    expect(new Set(ids).size).toBe(61)
  })

  it('are so many and no more: half of the places are for those of earlier compactions', () => {
    const many = Array.from({ length: 200 }, (_, index) => `NEW-${index + 1_000}`).join(' ')
    const ids = idsOf([user(many)], 1, earlier)
    expect(ids).toHaveLength(maxIds)
    expect(ids.filter((id) => id.startsWith('OLD-'))).toHaveLength(maxIds / 2)
    // One after another without earlier ones.
    expect(idsOf([user(many)], 1)).toHaveLength(maxIds)
    expect(idsOf([user(many)], 1, earlier.slice(0, 10))).toHaveLength(maxIds)
  })
})
