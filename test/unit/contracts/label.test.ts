import { describe, expect, it } from 'vitest'
import {
  confidentiality,
  integrity,
  joinLabels,
  labelFrom,
  ownLabel,
  saidLabel,
  sink,
  type Label,
} from '#contracts/label.ts'
import { labelRuleSchema, labelText, verdictOf, type LabelRule } from '#contracts/label-rules.ts'
import { labelOf } from '#contracts/message-label.ts'
import { createRandom } from '../../fakes/random.ts'

const { next: random } = createRandom(7)
const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!
const anyLabel = (): Label => {
  const count = Math.floor(random() * 12)
  const sources = Array.from({ length: count }, () =>
    labelFrom(`tool_${Math.floor(random() * 40)}`, {
      integrity: pick(integrity.options),
      confidentiality: pick(confidentiality.options),
    }),
  )
  return joinLabels([ownLabel, ...sources])
}

describe('labels', () => {
  it('join as a lattice: in any order, in any grouping, as often as one likes, with their sources', () => {
    for (let round = 0; round < 500; round += 1) {
      const [a, b, c] = [anyLabel(), anyLabel(), anyLabel()]
      const all = joinLabels([a, b, c])
      expect(joinLabels([c, a, b])).toEqual(all)
      expect(joinLabels([joinLabels([a, b]), c])).toEqual(all)
      expect(joinLabels([all, a, all])).toEqual(all)
      expect(joinLabels([a, ownLabel])).toEqual(a)
      expect(all.sources.length).toBeLessThanOrEqual(17)
    }
  })

  it('are never better than what is in them, and the worst where one is missing', () => {
    const stranger = labelFrom('http__get a.example', { confidentiality: 'public' })
    expect(joinLabels([saidLabel, stranger])).toMatchObject({
      integrity: 'stranger',
      confidentiality: 'said',
      sources: [{ from: 'http__get a.example' }],
    })
    expect(joinLabels([saidLabel, undefined])).toMatchObject({
      integrity: 'stranger',
      confidentiality: 'private',
    })
  })

  it('of messages that have none follow from where they came from, never better than that', () => {
    const user = { role: 'user', text: 'x' } as const
    expect(labelOf({ ...user, taint: ['user'] })).toEqual(saidLabel)
    expect(labelOf({ ...user, taint: ['user', 'context'] })).toMatchObject({
      integrity: 'data',
      confidentiality: 'private',
    })
    // A child's task, or a tool's answer, of a version that had no labels.
    expect(labelOf({ ...user, taint: ['model'] }).integrity).toBe('stranger')
    const answer = {
      role: 'tool',
      callId: 'c',
      name: 'kv__get',
      output: 1,
      isError: false,
    } as const
    expect(labelOf({ ...answer, taint: ['tool:kv__get'] })).toEqual(labelFrom('kv__get'))
    const label = { ...saidLabel, integrity: 'tool' } as const
    expect(labelOf({ ...answer, taint: ['tool:kv__get'], label })).toBe(label)
  })
})

describe('the rules on labels and sinks', () => {
  const page = labelFrom('http__get news.example', { confidentiality: 'public' })
  const notes = labelFrom('kv__get', { integrity: 'data' })
  const rule = (given: object): LabelRule => labelRuleSchema.parse(given)

  it('T11: what ships asks where a stranger could steer an effect, or have private data sent out', () => {
    const both = joinLabels([saidLabel, page, notes])
    const read = joinLabels([saidLabel, page])
    const own = joinLabels([saidLabel, notes])
    const verdicts = (label: Label) => sink.options.map((one) => verdictOf(label, one).verdict)
    expect(verdicts(saidLabel)).toEqual(['allow', 'allow', 'allow', 'allow', 'allow'])
    expect(verdicts(own)).toEqual(['allow', 'allow', 'allow', 'allow', 'allow'])
    expect(verdicts(read)).toEqual(['allow', 'ask', 'ask', 'ask', 'ask'])
    expect(verdicts(both)).toEqual(['ask', 'ask', 'ask', 'ask', 'ask'])
    expect(verdictOf(both, []).verdict).toBe('allow')
    expect(verdictOf(read, ['egress', 'write']).verdict).toBe('ask')
  })

  it('leave never covers a worse label, nor another source; a question holds for all that is worse', () => {
    const trusts = rule({
      label: { integrity: 'stranger', confidentiality: 'said', from: 'http__get news.example' },
      sink: ['egress', 'write'],
      verdict: 'allow',
    })
    const rules = [trusts, rule({ label: { integrity: 'tool' }, sink: 'write', verdict: 'deny' })]
    const read = joinLabels([saidLabel, page])
    const other = joinLabels([read, labelFrom('http__get evil.example')])
    expect(verdictOf(read, 'write', rules).verdict).toBe('allow')
    expect(verdictOf(joinLabels([read, notes]), 'write', rules).verdict).toBe('deny')
    expect(verdictOf(other, 'write', rules).verdict).toBe('deny')
    // A tool's name alone is all of its hosts; a host's beginning is none of them.
    const all = rule({ label: { from: 'http__*' }, sink: 'write', verdict: 'allow' })
    expect(verdictOf(other, 'write', [all, ...rules]).verdict).toBe('allow')
    const longer = labelFrom('http__get news.example.evil', { confidentiality: 'said' })
    expect(verdictOf(longer, 'write', rules).verdict).toBe('deny')
    expect(
      labelRuleSchema.safeParse({ ...trusts, label: { from: 'http__get news.*' } }).success,
    ).toBe(false)
  })

  it('too many sources are none that a rule names', () => {
    const many = joinLabels(Array.from({ length: 30 }, (_, at) => labelFrom(`crm__t${at}`)))
    const all = rule({ label: { from: 'crm__*' }, sink: 'write', verdict: 'allow' })
    expect(verdictOf(many, 'write', [all, rule({ sink: 'write', verdict: 'ask' })]).verdict).toBe(
      'ask',
    )
  })

  it('says who asks from where, and what the call can do', () => {
    const both = joinLabels([saidLabel, page, notes])
    expect(labelText(both, verdictOf(both, 'write'))).toBe(
      'Whoever asks for this call has read text that a stranger can have written (http__get news.example) and private data (kv__get), and it can change something outside.',
    )
  })
})
