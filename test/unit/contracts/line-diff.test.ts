import { describe, expect, it } from 'vitest'
import { agentDefinition } from '#contracts/manifest/agent-definition.ts'
import { definitionDiff } from '#features/agents/types.ts'
import { exposureDiff, exposureSchema } from '#runtime/catalog/types/generation.ts'
import { diffCounts, diffLines } from '#contracts/line-diff.ts'
import { textLines, valueLines } from '../../../src/features/skills/types.ts'
import {
  defaultToolPolicy,
  policyDiff,
  toolPolicySchema,
} from '#runtime/kernel/types/tool-policy.ts'
import { createRandom } from '../../fakes/random.ts'

const definition = (instructions: string, agent: object = {}, more: object = {}) =>
  agentDefinition.parse({
    id: 'notes',
    name: 'Notes',
    description: 'Keeps notes.',
    agent: { instructions, ...agent },
    ...more,
  })
const shownOf = ({ lines }: { readonly lines: readonly string[] }) =>
  lines.filter((line) => /^[-+<>]/.test(line))

describe('I8: an operator approves an agent as it is shown', () => {
  it('shows lines that changed places, which gave an empty diff', () => {
    const before = 'Only for administrators:\n- delete all notes\nFor everybody else:\n- answer'
    const after = 'For everybody else:\n- delete all notes\nOnly for administrators:\n- answer'
    const diff = definitionDiff(definition(before), definition(after))
    expect(diff.moved.length).toBeGreaterThan(0)
    const side = (marks: string) =>
      diff.lines
        .filter((line) => marks.includes(line[0]!) && line.includes('instructions'))
        .map((line) => line.slice('  agent.instructions: '.length))
    expect([side(' <-').join('\n'), side(' >+').join('\n')]).toEqual([before, after])
  })

  it.each([
    ['a line that is there once more', 'Ask.\nAnswer.', 'Ask.\nAsk.\nAnswer.'],
    ['a line of which one is taken away and one stays', 'Ask.\nAct.\nAsk.', 'Act.\nAsk.'],
    ['an empty line', 'Ask.\nAct.', 'Ask.\n\nAct.'],
    ['blanks at the end of a line', 'Ask.\nAct.', 'Ask.  \nAct.'],
    ['blanks at its beginning', 'Ask.\n- Act.', 'Ask.\n  - Act.'],
    ['another end of line', 'Ask.\nAct.', 'Ask.\r\nAct.'],
    ['a tab for a blank', 'Ask first.', 'Ask\tfirst.'],
    ['a blank that does not break', 'Ask first.', 'Ask\u00a0first.'],
    ['a code for what it stands for', 'Ask \\u{a0}.', 'Ask \u00a0.'],
  ])('shows %s', (_what, before, after) => {
    const diff = definitionDiff(definition(before), definition(after))
    expect(shownOf(diff)).not.toEqual([])
    expect(new Set(shownOf(diff).map((line) => line.slice(2))).size).toBe(
      new Set([...diff.added, ...diff.removed]).size,
    )
  })

  it.each([
    [
      'the order of uses_tools',
      { uses_tools: ['kv__get', 'kv__set'] },
      { uses_tools: ['kv__set', 'kv__get'] },
    ],
    ['one of two tools of one name', { uses_tools: ['kv', 'kv'] }, { uses_tools: ['kv'] }],
    ['an empty object', {}, { context: {} }],
    ['an empty list', { subscribes: [] }, {}],
    ['the order of fields', { output_schema: { a: 1, b: 2 } }, { output_schema: { b: 2, a: 1 } }],
    ['a number for a text', { variables: { limit: 5 } }, { variables: { limit: '5' } }],
    ['a text for no value', { variables: { on: true } }, { variables: { on: 'true' } }],
    [
      'two objects for one',
      { output_schema: { x: [{ a: 1 }, { b: 2 }] } },
      { output_schema: { x: [{ a: 1, b: 2 }] } },
    ],
    [
      'two texts for one of two lines',
      { output_schema: { x: ['a', 'b'] } },
      { output_schema: { x: ['a\nb'] } },
    ],
    ['a list in a list', { output_schema: { x: [[1], [2]] } }, { output_schema: { x: [[1, 2]] } }],
    ['a point in a name', { output_schema: { 'a.b': 1 } }, { output_schema: { a: { b: 1 } } }],
  ])('shows %s', (_what, before, after) => {
    expect(shownOf(definitionDiff(definition('A', before), definition('A', after)))).not.toEqual([])
  })

  it('is never empty where two definitions are different, and says both sides in order', () => {
    const random = createRandom(31).next
    const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!
    const value = (depth: number): unknown => {
      const kinds = [
        '',
        'a',
        'a\nb',
        ' ',
        '1',
        1,
        null,
        true,
        'true',
        '[]',
        '{}',
        '"',
        'fields',
        'a list',
        '-1e5',
        'a\r\nb\n',
      ]
      if (depth === 0 || random() < 0.4) return pick(kinds)
      const parts = Array.from({ length: Math.floor(random() * 3) }, () => value(depth - 1))
      if (random() < 0.5) return parts
      return Object.fromEntries(parts.map((part) => [pick(['a', 'b', 'a.b', '', 'x[]']), part]))
    }
    for (let round = 0; round < 4_000; round += 1) {
      const [before, after] = [{ x: value(3) }, { x: value(3) }]
      const { lines } = diffLines(valueLines(before), valueLines(after), 1_000)
      const isSame = JSON.stringify(before) === JSON.stringify(after)
      expect([before, after, lines.length === 0]).toEqual([before, after, isSame])
      const side = (marks: string) =>
        lines.filter((line) => marks.includes(line[0]!)).map((line) => line.slice(2))
      if (!isSame) expect(side(' -<')).toEqual(valueLines(before))
      if (!isSame) expect(side(' +>')).toEqual(valueLines(after))
    }
  })

  it('shows both sides whole where they have too little in common to be compared', () => {
    const [old, now] = ['old', 'new'].map((word) =>
      Array.from({ length: 2_000 }, (_unused, at) => `${word} ${at}`),
    ) as [string[], string[]]
    const { added, removed, lines } = diffLines(
      ['first', ...old, 'last'],
      ['first', ...now, 'last'],
    )
    expect([added, removed]).toEqual([now, old])
    expect([lines[0], lines.at(-1)]).toEqual(['  first', '  last'])
  })

  it('says what is new, gone and moved', () => {
    const diff = diffLines(['a', 'b', 'c', 'd'], ['b', 'c', 'd', 'a', 'e'])
    expect(diff.lines).toEqual(['< a', '  b', '  c', '  d', '> a', '+ e'])
    expect(diffCounts(diff)).toBe('1 new, 0 gone, 1 moved')
  })
})

describe('X2: the lines of a text', () => {
  it.each([
    ['the end of its last line', 'a\nb', 'a\nb\n'],
    ['ends of lines', 'a\nb\n', 'a\r\nb\r\n'],
    ['an empty line at its end', 'a\n', 'a\n\n'],
    ['blanks at the end', 'a\nb\n', 'a \nb\n'],
    ['a line without a break that reads like the remark', 'a', 'a \\ no break at the end'],
    ['nothing, and an empty line', '', '\n'],
  ])('tell %s apart', (_what, before, after) => {
    expect(diffLines(textLines(before), textLines(after)).lines).not.toEqual([])
  })
})

describe('I8: the difference of two policies', () => {
  const policyOf = (more: object) => toolPolicySchema.parse({ ...defaultToolPolicy, ...more })
  const rule = (verdict: 'allow' | 'deny') => ({
    label: { integrity: verdict === 'allow' ? 'user' : 'stranger' },
    sink: 'egress',
    tools: '*',
    verdict,
  })
  it('shows the order of rules, of which the first that fits decides', () => {
    const [one, other] = [rule('deny'), rule('allow')]
    const diff = policyDiff(policyOf({ labels: [one, other] }), policyOf({ labels: [other, one] }))
    expect(diff.moved).toHaveLength(1)
    expect(shownOf(diff)).toHaveLength(2)
  })

  it.each([
    [
      'who approves',
      {
        approvers: [
          { tools: 'kv__*', approver: 'owner' },
          { tools: '*', approver: 'operator' },
        ],
      },
      'approvers',
    ],
    ['what is denied', { deny: ['kv__*', 'http__*'] }, 'deny'],
    [
      'how often',
      {
        rates: [
          { tools: '*', per: 'session', calls_per_minute: 1 },
          { tools: '*', per: 'principal', calls_per_minute: 2 },
        ],
      },
      'rates',
    ],
  ])('shows another order of %s', (_what, more, field) => {
    const turned = { [field]: (more as Record<string, unknown[]>)[field]!.toReversed() }
    expect(shownOf(policyDiff(policyOf(more), policyOf(turned)))).toHaveLength(2)
  })

  it('shows a line that is there twice', () => {
    const diff = policyDiff(policyOf({ deny: ['kv__*', 'kv__*'] }), policyOf({ deny: ['kv__*'] }))
    expect(shownOf(diff)).toEqual(['- deny kv__*'])
  })
})

it('I8: shows what of an exposure is named twice, or in another order', () => {
  const of = (tools: readonly string[]) => exposureSchema.parse({ tools })
  expect(shownOf(exposureDiff(of(['kv__get', 'kv__get']), of(['kv__get'])))).toHaveLength(1)
  expect(
    shownOf(exposureDiff(of(['kv__get', 'kv__set']), of(['kv__set', 'kv__get']))),
  ).toHaveLength(2)
})
