import { describe, expect, it } from 'vitest'
import type { StreamItem } from '#contracts/event.ts'
import { createChatStream } from '../../../src/surfaces/openai/chat-response.ts'
import { createResponseView } from '../../../src/surfaces/openai/responses/response-view.ts'
import { toldEvent } from '../../fakes/events.ts'
import { finished, resultOf, testRun } from '../../fakes/http-deps.ts'

const place = { session: `ses_${'S'.repeat(22)}`, run: testRun, turn: 0 }
const common = { requestId: 'req_1', onFault: () => {} }

/** What a chat client and a client of responses read of a run that waits. */
function readBy(items: readonly StreamItem[]): readonly string[] {
  const head = { id: 'chatcmpl-1', created: 1, model: 'm' }
  const chat = createChatStream({ ...common, head, place, includeUsage: false })
  const response = createResponseView({ ...common, head: { place, createdAt: 1, echo: {} } })
  const said = items.map((item) => chat.show(item)).join('')
  for (const item of items) response.show(item)
  response.close()
  return [said, JSON.stringify(response.resource().incomplete_details)]
}

const base = finished(resultOf(), 2)
const parked = (call: string) =>
  toldEvent({
    ...base,
    type: 'run_parked',
    data: { pauses: [{ call, tool: '', kind: 'budget' }], turn: 5 },
  })
const loop = toldEvent({
  ...base,
  type: 'loop_suspected',
  data: { calls: ['kv__get', 'kv__set'], rounds: 5 },
})
const limit = toldEvent({
  ...base,
  type: 'budget_reached',
  data: { code: 'lease_turns', limit: 'maxTurns', message: 'The limit of 2 turns is reached.' },
})

describe('I12: what a client at /v1 reads of a run that waits', () => {
  it('names the calls that came again and again, and the decision that lets it go on', () => {
    for (const text of readBy([limit, loop, parked('limit_5_1')])) {
      expect(text).toContain('kv__get, kv__set came 5 times in a row')
      expect(text).toMatch(
        /\/decisions \{\\"call\\":\\"limit_5_1\\",\\"decision\\":\\"approve\\"\}/,
      )
      expect(text).toContain('isola approval approve')
      expect(text).not.toContain('/limits')
    }
  })

  it('names the limit that was reached, and how it is raised', () => {
    for (const text of readBy([loop, limit, parked('limit_5_1')])) {
      expect(text).toContain('The limit of 2 turns is reached.')
      expect(text).toContain(`/runs/${testRun}/limits`)
      expect(text).not.toContain('/decisions')
    }
  })
})
