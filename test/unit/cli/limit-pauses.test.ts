import { describe, expect, it } from 'vitest'
import { answeringClient } from '../../fakes/app-client.ts'
import { settlePauses, type Sessions } from '../../../cli/chat/pauses.ts'

const reached = (limit: string) => ({
  code: 'lease_cost',
  limit,
  message: 'The limit of 1 US dollars is reached.',
})
const treeOf = (pause: object): Sessions => ({
  id: 'ses_1',
  children: [],
  runs: [
    {
      id: 'run_1',
      state: 'parked',
      pauses: [{ kind: 'budget', call: 'limit_1_1', ...pause } as never],
    },
  ],
})

/** The requests and notes when a person answers with these lines, one after the other, and then leaves. */
async function answering(lines: readonly string[], limit = 'maxCostNanoUsd', status = 200) {
  const sent: unknown[] = []
  const notes: string[] = []
  const rest = [...lines]
  const { request } = answeringClient((path, body) => {
    sent.push([path.split('/').at(-1), body])
    const error = { code: 'invalid', message: 'maxTurns: must be whole.' }
    return status === 200 ? {} : Response.json({ error }, { status })
  })
  const settled = await settlePauses(treeOf({ reached: reached(limit) }), {
    request,
    ask: async () => rest.shift(),
    note: (text) => void notes.push(text),
    signal: new AbortController().signal,
  })
  return { sent, notes, settled, rest }
}

describe('a limit that a run waits at, in isola chat', () => {
  it.each([
    ['2.5', 2.5],
    ['$2.50', 2.5],
    ['1,500', 1_500],
    ['  40 ', 40],
  ])('is raised by %s', async (line, maxCostUsd) => {
    expect((await answering([line])).sent).toEqual([['limits', { maxCostUsd }]])
  })

  it.each(['1,5', '100k', '5 dollars', 'y', '', '0', '-3', '1e999', '0x10'])(
    'stays, and is asked again, after %j, which is neither a limit nor a no',
    async (line) => {
      const { sent, notes, rest } = await answering([line, '40', 'later'])
      expect(sent).toEqual([['limits', { maxCostUsd: 40 }]])
      expect(rest).toEqual(['later'])
      expect(notes.join('\n')).toContain('a number such as 40')
    },
  )

  it.each(['no', 'N', 'no '])('ends the run with %j', async (line) => {
    const { sent } = await answering([line])
    expect(sent).toEqual([['decisions', { call: 'limit_1_1', decision: 'deny' }]])
  })

  it('ends the run where the input of the chat has ended', async () => {
    const { sent, settled } = await answering([])
    const message = 'The input of the chat had ended, so no person answered.'
    expect(sent).toEqual([['decisions', { call: 'limit_1_1', decision: 'deny', message }]])
    expect(settled.isUnanswered).toBe(true)
  })

  it('is asked about again where the server refuses the new one', async () => {
    const { notes, settled } = await answering(['2.5'], 'maxTurns', 400)
    expect(notes).toContain('! maxTurns: must be whole.')
    expect(settled.count).toBe(1)
  })
})
