import { describe, expect, it } from 'vitest'
import {
  clientSource,
  confidentiality,
  integrity,
  joinLabels,
  labelFrom,
  ownLabel,
  saidLabel,
  sink,
  type Label,
} from '#contracts/label.ts'
import {
  labelRuleSchema,
  labelText,
  verdictOf,
  type LabelRule,
} from '#runtime/kernel/types/label-rules.ts'
import { labelOf } from '#contracts/message.ts'
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
    // A client gives its tools any name.
    const named = labelOf({ ...answer, taint: ['user', 'tool:kv__get'] })
    expect(named.sources.map(({ from }) => from)).toEqual(['client:kv__get'])
  })
})

describe('the rules on labels and sinks', () => {
  const page = labelFrom('http__get news.example', { confidentiality: 'public' })
  const notes = labelFrom('kv__get', { integrity: 'data' })
  const rule = (given: object): LabelRule => labelRuleSchema.parse(given)

  it('T11: the shipped rules ask where a stranger could steer an effect, or have private data sent out', () => {
    const both = joinLabels([saidLabel, page, notes])
    const read = joinLabels([saidLabel, page])
    const own = joinLabels([saidLabel, notes])
    const verdicts = (label: Label) => sink.options.map((one) => verdictOf(label, one).verdict)
    expect(verdicts(saidLabel)).toEqual(['allow', 'allow', 'allow', 'allow', 'allow'])
    expect(verdicts(own)).toEqual(['allow', 'allow', 'allow', 'allow', 'allow'])
    expect(verdicts(read)).toEqual(['ask', 'ask', 'ask', 'ask', 'ask'])
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
    const rules = [trusts, rule({ label: { integrity: 'tool' }, sink: 'write', verdict: 'ask' })]
    const read = joinLabels([saidLabel, page])
    const other = joinLabels([read, labelFrom('http__get evil.example')])
    expect(verdictOf(read, 'write', rules).verdict).toBe('allow')
    expect(verdictOf(joinLabels([read, notes]), 'write', rules).verdict).toBe('ask')
    expect(verdictOf(other, 'write', rules).verdict).toBe('ask')
    // A tool's name alone is all of its hosts; a host's beginning is none of them.
    const all = rule({ label: { from: 'http__*' }, sink: 'write', verdict: 'allow' })
    expect(verdictOf(other, 'write', [all, ...rules]).verdict).toBe('allow')
    const longer = labelFrom('http__get news.example.evil', { confidentiality: 'said' })
    expect(verdictOf(longer, 'write', rules).verdict).toBe('ask')
    expect(
      labelRuleSchema.safeParse({ ...trusts, label: { from: 'http__get news.*' } }).success,
    ).toBe(false)
  })

  it('names what a client’s own tool returned as it is called in a label', () => {
    const read = joinLabels([saidLabel, labelFrom(clientSource('read'))])
    for (const from of ['client:read', 'client:re*', 'client:*']) {
      const trusts = rule({ label: { from }, sink: 'write', verdict: 'allow' })
      const rules = [trusts, rule({ sink: 'write', verdict: 'ask' })]
      expect(verdictOf(read, 'write', rules).verdict).toBe('allow')
      expect(verdictOf(labelFrom('read'), 'write', rules).verdict).toBe('ask')
    }
    expect(labelRuleSchema.shape.label.safeParse({ from: 'other:read' }).success).toBe(false)
  })

  it('too many sources may be any that a question names, and are none that leave names', () => {
    const many = joinLabels(Array.from({ length: 30 }, (_, at) => labelFrom(`crm__t${at}`)))
    const of = (verdict: string, from: string) => rule({ label: { from }, sink: 'write', verdict })
    const rules = [of('allow', 'crm__*'), rule({ sink: 'write', verdict: 'ask' })]
    expect(verdictOf(many, 'write', rules).verdict).toBe('ask')
    for (const verdict of ['ask', 'deny'])
      expect(verdictOf(many, 'write', [of(verdict, 'zoo__*')]).verdict).toBe(verdict)
    expect(verdictOf(labelFrom('crm__t'), 'write', [of('deny', 'zoo__*')]).verdict).toBe('allow')
    // Nor is leave for a source leave for what has none although it is a stranger's.
    const bare = { integrity: 'stranger', confidentiality: 'public', sources: [] } as const
    expect(verdictOf(bare, 'write', rules).verdict).toBe('ask')
    expect(verdictOf(bare, 'write', [of('deny', 'zoo__*')]).verdict).toBe('deny')
    expect(verdictOf(saidLabel, 'write', rules).verdict).toBe('allow')
  })

  it('a deny that fits counts, whatever stands before it', () => {
    const deny = rule({ label: { integrity: 'stranger' }, sink: 'write', verdict: 'deny' })
    const allow = rule({ sink: ['write', 'egress'], verdict: 'allow' })
    expect(verdictOf(page, ['egress', 'write'], [allow, deny])).toMatchObject({ rule: deny })
    expect(verdictOf(saidLabel, 'write', [allow, deny]).verdict).toBe('allow')
  })

  it('T11: values may be sent back to the one source of all of them, and nowhere else', () => {
    const verdict = (labels: Label[], call: object) =>
      verdictOf(joinLabels([saidLabel, ...labels]), 'egress', undefined, call).verdict
    const [crm, more] = [labelFrom('crm__find'), labelFrom('crm__list')]
    const toCrm = { tool: 'crm__find', home: 'crm__*', isNamed: true }
    expect(verdict([crm, more], toCrm)).toBe('allow')
    expect(verdict([crm, page], toCrm)).toBe('allow')
    expect(verdict([crm, notes], toCrm)).toBe('ask')
    expect(verdict([crm, labelFrom('crm2__find')], toCrm)).toBe('ask')
    expect(verdict([crm, labelFrom('client:crm__find')], toCrm)).toBe('ask')
    expect(verdict([crm], { ...toCrm, home: undefined })).toBe('ask')
    const many = Array.from({ length: 17 }, (_, at) => labelFrom(`crm__t${at}`))
    expect(verdict(many, toCrm)).toBe('ask')
    // It is one place that both are, not a part of its name.
    const keyed = labelFrom('http__get api.example')
    expect(verdict([keyed], { home: '* api.example' })).toBe('allow')
    expect(verdict([keyed], { home: '* api.example.evil' })).toBe('ask')
    expect(verdict([crm], { home: '* api.example' })).toBe('ask')
    // What changes something there is asked about all the same.
    const label = joinLabels([saidLabel, crm])
    expect(verdictOf(label, ['egress', 'write'], undefined, toCrm).verdict).toBe('ask')
  })

  it('T11: with public pages only a host is asked that was read, or that an operator named', () => {
    const verdict = (call: object) =>
      verdictOf(joinLabels([saidLabel, page]), 'egress', undefined, call).verdict
    expect(verdict({ home: '* news.example' })).toBe('allow')
    expect(verdict({ home: '* other.example' })).toBe('ask')
    expect(verdict({ home: '* other.example', isNamed: true })).toBe('allow')
    expect(verdict({ isNamed: true })).toBe('allow')
    expect(verdict({})).toBe('ask')
    expect(verdictOf(saidLabel, 'egress', undefined, { home: '* other.example' }).verdict).toBe(
      'allow',
    )
  })

  it('says who asks from where, and what the call can do', () => {
    const both = joinLabels([saidLabel, page, notes])
    expect(labelText(both, verdictOf(both, 'write'))).toBe(
      'Whoever asks for this call has read text that a stranger can have written (http__get news.example) and private data (kv__get), and it can change something outside.',
    )
  })
})
