import { describe, expect, it } from 'vitest'
import { eventsPage, pagesAfter } from '../../../src/runtime/session/log/log-view.ts'
import { decideCalls } from '../../../src/runtime/session/waiting/outside.ts'
import { createSessionWorld, pauseMs } from '../../switches/session-world.ts'
import { says, sha256, toolEntry } from '../../fakes/kernel.ts'

const say = (text: string) => ({ role: 'user', text, taint: ['user'] }) as const

/** Every place of the log in the order in which it is read page by page, and how large the pages were. */
function paged(
  store: Parameters<typeof eventsPage>[0],
  options: { order?: number; from?: number } = {},
) {
  const { from = 0, ...only } = options
  const seqs: number[] = []
  const sizes: number[] = []
  for (let after = from; ;) {
    const page = eventsPage(store, { after, upTo: 1e9, ...only })
    if (page.length === 0) return { seqs, sizes }
    seqs.push(...page.map(({ seq }) => seq))
    sizes.push(JSON.stringify(page).length)
    after = page.at(-1)!.seq
  }
}

describe('a log that is read page by page', () => {
  it('I16: has every event once and in order, in pages of a bounded size', async () => {
    const { wake } = createSessionWorld({ script: () => ({ text: 'x'.repeat(150_000) }) })
    const life = wake()
    for (let run = 0; run < 36; run += 1) await life.run()
    const all = [...pagesAfter(life.store, 0, 1_000)].flat().map(({ seq }) => seq)
    const { seqs, sizes } = paged(wake().store)
    expect(seqs).toEqual(all)
    expect(sizes.length).toBeGreaterThan(5)
    expect(Math.max(...sizes)).toBeLessThan(2_000_000)
    for (const from of [1, 7, 80, all.length - 1])
      expect(paged(life.store, { from }).seqs).toEqual(all.slice(from))
  })

  it('I16: has it also where runs went on after later ones, and of one run alone', async () => {
    const { wake, clock } = createSessionWorld({
      script: ({ messages }) => {
        const last = messages.at(-1)!
        return last.role === 'user' && last.text.includes('mail')
          ? { calls: [{ name: 'mail', input: { to: 'a' } }] }
          : { text: 'x'.repeat(100_000) }
      },
      entries: [
        toolEntry('mail', async () => says('sent'), { isReadOnly: false, needsApproval: true }),
      ],
    })
    const life = wake()
    const parked = []
    for (let run = 0; run < 40; run += 1) {
      const outcome = await life.run({ messages: [say(run % 9 === 3 ? 'mail' : 'talk')] })
      if (outcome.state === 'parked') parked.push(outcome)
    }
    expect(parked).toHaveLength(5)
    for (const { id, pauses } of parked.reverse()) {
      const decision = { decision: 'approve' } as const
      const decisions = [{ call: pauses[0]!.call, decision }]
      decideCalls(life.row(id), { decisions, nowMs: clock.nowMs(), pauseMs, sha256 }, life)
      await life.runs.live(id)!.done
    }
    const all = [...pagesAfter(life.store, 0, 1_000)].flat()
    for (const { store } of [life, wake()]) {
      expect(paged(store).seqs).toEqual(all.map(({ seq }) => seq))
      for (const from of [5, 60, 150])
        expect(paged(store, { from }).seqs).toEqual(all.slice(from).map(({ seq }) => seq))
      for (const { id } of parked) {
        const own = all.filter(({ run }) => run === id).map(({ seq }) => seq)
        expect(paged(store, { order: life.row(id).order }).seqs).toEqual(own)
      }
    }
  })
})
