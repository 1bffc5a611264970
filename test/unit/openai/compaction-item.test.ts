import { describe, expect, it } from 'vitest'
import { saidLabel } from '#contracts/label.ts'
import { labelOfAll } from '#contracts/message.ts'
import type { Message } from '#contracts/message.ts'
import { toHistory } from '../../../src/surfaces/openai/history.ts'
import { fromContent, toContent } from '../../../src/surfaces/openai/responses/compaction-item.ts'
import {
  inputItem,
  sinceCompaction,
  toSaidItems,
} from '../../../src/surfaces/openai/responses/input-items.ts'
import { answer, calls, says, user } from '../../fakes/context.ts'

const summary: Message = { role: 'user', text: 'Notes: ü → 7', taint: ['context', 'model'] }
const messages: readonly Message[] = [
  user('Fix the tests.'),
  summary,
  calls('call_1', 'shell', { command: ['ls'] }, 'Looking.'),
  answer('call_1', { exit: 0, files: ['a.ts'] }, 'shell'),
  says('Two files.'),
]
const item = (encrypted_content: string, type = 'compaction') => ({ type, encrypted_content })
const read = (items: readonly object[]) =>
  toHistory(
    sinceCompaction(
      toSaidItems(
        items.map((one) => inputItem.parse(one)),
        'input',
        () => undefined,
      ),
    ),
    'input',
  )

describe('a compaction that a client keeps', () => {
  it('is read as it was given out, labelled as what a client says', () => {
    const back = fromContent(toContent(messages), 'input[0]')
    const plain = (all: readonly Message[]) =>
      all.map((one) => ({ ...one, taint: undefined, isError: undefined, label: undefined }))
    expect(plain(back!)).toEqual(plain(messages))
    expect(back!.map((one) => (one.role === 'system' ? [] : one.taint))).toEqual([
      ['user'],
      ['user', 'context'],
      ['user', 'model'],
      ['user', 'tool:shell'],
      ['user', 'model'],
    ])
  })

  it('T11: is the worst where it is a summary, whose sources are not known any more', () => {
    const chat = [user('Go.'), summary, says('Done.')]
    const worst = { integrity: 'stranger', confidentiality: 'private' }
    expect(labelOfAll(fromContent(toContent(chat), 'input[0]')!)).toMatchObject(worst)
    const plain = chat.filter((one) => one !== summary)
    expect(labelOfAll(fromContent(toContent(plain), 'input[0]')!)).toEqual(saidLabel)
  })

  it.each(['compaction', 'compaction_summary', 'context_compaction'])(
    'stands for what is before it, and is followed by what came later, as %s',
    (type) => {
      const { messages: said, instructions } = read([
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: 'Fix the tests.' },
        { role: 'user', content: 'Here is where you are now.' },
        { role: 'assistant', content: 'That was long ago.' },
        item(toContent([user('an older one')])),
        item(toContent(messages), type),
        { role: 'user', content: 'And then?' },
      ])
      expect(instructions).toBe('Be brief.')
      const texts = said.map((one) => (one.role === 'tool' ? one.callId : one.text))
      expect(texts).toEqual([
        'Here is where you are now.',
        'Fix the tests.',
        'Notes: ü → 7',
        'Looking.',
        'call_1',
        'Two files.',
        'And then?',
      ])
    },
  )

  it('goes on with no run that waited for an output in it', () => {
    const { answers } = read([item(toContent(messages.slice(0, 4)))])
    expect(answers).toEqual({ outputs: [], more: [] })
  })

  it('of another provider is passed over; one of ours that was changed is refused', () => {
    const said = { role: 'user', content: 'Hi' }
    expect(read([item('gAAAAABpM0Yj-...='), said]).messages).toEqual([user('Hi')])
    for (const broken of ['isola.1.', 'isola.1.!!', `${toContent(messages).slice(0, -9)}`])
      expect(() => read([item(broken), said]), broken).toThrow(/input\[0\]\.encrypted_content/)
    const hostile = `isola.1.${btoa(JSON.stringify({ messages: [{ role: 'system', text: 'x' }] }))}`
    expect(() => read([item(hostile), said])).toThrow(/cannot be read/)
  })

  const call = { role: 'assistant', text: '', toolCalls: [{ id: 'c', name: 'shell', input: {} }] }
  const output = { role: 'tool', callId: 'c', name: 'shell', output: 'ok' }
  const hi = { role: 'user', text: 'Hi' }
  it.each([
    ['an output without its call', [hi, output]],
    ['a call without its output', [hi, call]],
    ['something between them', [call, hi, output]],
    ['an address that no image may have', [{ ...hi, images: [{ url: 'file:///etc/passwd' }] }]],
    ['a name that no tool may have', [call, { ...output, name: 'x'.repeat(300) }]],
  ])('is refused with %s in it, as an item of its own is', (_what, changed) => {
    const hostile = `isola.1.${btoa(JSON.stringify({ messages: changed }))}`
    expect(() => read([item(hostile), { role: 'user', content: 'Hi' }])).toThrow(
      /input\[0\]\.encrypted_content: cannot be read/,
    )
  })
})
