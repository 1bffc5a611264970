import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { AskAnswers, Asks, ToolEntry, ToolResult } from '#contracts/tool.ts'
import { createToolContext } from '../fakes/tool-context.ts'

/** Answers as a session keeps them: each beside what was asked. */
export const answersTo = (
  asks: Asks | undefined,
  given: Readonly<Record<string, Json>>,
): AskAnswers =>
  Object.fromEntries(
    Object.entries(given).map(([key, answer]) => [key, { asked: asks?.[key] ?? {}, answer }]),
  )

/** The contract of a call that asks, in either host; the tools are those of the plugin `mcp-fixtures`. */
export function describeAsking(
  host: string,
  entriesOf: (granted?: readonly string[]) => readonly ToolEntry[],
): void {
  const start = (tool: string, input: JsonObject = {}, granted?: readonly string[]) => {
    const entry = entriesOf(granted).find(({ tool: { name } }) => name.endsWith(`__${tool}`))
    const contexts: ReturnType<typeof createToolContext>[] = []
    const run = async (answers?: AskAnswers): Promise<ToolResult> => {
      const context = createToolContext({ answers })
      contexts.push(context)
      return entry!.tool.execute(input, context)
    }
    return { run, events: () => contexts.flatMap(({ events }) => events) }
  }
  const asksOf = (result: ToolResult): Asks | undefined =>
    result.ok ? undefined : result.pause?.asks
  const textOf = (result: ToolResult): unknown =>
    result.ok ? Object(result.output).content?.[0]?.text : result.error
  const accept = (content: JsonObject) => ({ action: 'accept', content })

  describe(`a call that asks, ${host}`, () => {
    it('ends where it asks, with what is asked', async () => {
      const { run, events } = start('test_input_required_result_elicitation')
      const result = await run()
      expect(result).toMatchObject({
        ok: false,
        error: { code: 'tool_pending' },
        pause: {
          kind: 'question',
          expires: true,
          asks: {
            user_name: {
              kind: 'elicit',
              message: 'What is your name?',
              schema: { type: 'object', required: ['name'] },
            },
          },
        },
      })
      expect(events()).toEqual([])
    })

    it('runs again with the answer, and is labelled as having it from a person', async () => {
      const { run } = start('test_input_required_result_elicitation')
      const asks = asksOf(await run())
      const result = await run(answersTo(asks, { user_name: accept({ name: 'Ann' }) }))
      expect(textOf(result)).toBe('Hello, Ann!')
      expect(result).toMatchObject({ taint: ['user', expect.stringMatching(/^tool:/)] })
    })

    it('asks several things at once', async () => {
      const { run } = start('test_input_required_result_multiple_inputs')
      const asks = asksOf(await run())
      expect(Object.keys(asks ?? {})).toEqual(['user_name', 'greeting', 'client_roots'])
      const content = { type: 'text', text: 'Hi!' }
      const result = await run(
        answersTo(asks, {
          user_name: { action: 'decline' },
          greeting: { role: 'assistant', content: [content], model: 'm', more: 1 },
          client_roots: [{ uri: 'file:///a' }],
        }),
      )
      expect(JSON.parse(String(textOf(result)))).toEqual({
        user_name: { action: 'decline' },
        greeting: { role: 'assistant', content, model: 'm' },
        client_roots: [{ uri: 'file:///a' }],
      })
    })

    it('asks in rounds, and keeps what was answered', async () => {
      const { run } = start('test_input_required_result_multi_round')
      const one = answersTo(asksOf(await run()), { step1: accept({ name: 'Ann' }) })
      const second = asksOf(await run(one))
      expect(Object.keys(second ?? {})).toEqual(['step2'])
      const both = { ...one, ...answersTo(second, { step2: accept({ color: 'red' }) }) }
      expect(textOf(await run(both))).toBe('Ann likes red')
    })

    it('T21: takes no answer to another question', async () => {
      const { run } = start('test_input_required_result_request_state')
      const forged = { confirm: { asked: { kind: 'elicit' }, answer: accept({ ok: true }) } }
      expect(asksOf(await run(forged))).toHaveProperty('confirm')
    })

    it.each<[string, Json]>([
      ['a number', 12_345],
      ['nothing', null],
      ['another shape', { action: 'maybe' }],
      ['content that does not fit the schema', accept({ name: 7 })],
      ['no content', { action: 'accept' }],
    ])('asks again, and says why, if the answer is %s', async (_what, answer) => {
      const { run } = start('test_input_required_result_elicitation')
      const asks = asksOf(await run())
      const again = asksOf(await run(answersTo(asks, { user_name: answer })))
      expect(again?.['user_name']).toMatchObject({
        message: 'What is your name?',
        problem: expect.any(String) as string,
        tries: 1,
      })
      const right = answersTo(again, { user_name: accept({ name: 'Ann' }) })
      expect(textOf(await run(right))).toBe('Hello, Ann!')
    })

    it('gives up after five answers that do not fit', async () => {
      const { run } = start('test_input_required_result_elicitation')
      let result = await run()
      for (let tries = 0; tries <= 5; tries += 1)
        result = await run(answersTo(asksOf(result), { user_name: 7 }))
      expect(result).toMatchObject({
        error: {
          code: 'tool_failed',
          message: expect.stringMatching(/^No valid answer/) as string,
        },
      })
    })

    it('does without what is optional and cannot be asked', async () => {
      const { run } = start('test_input_required_result_capabilities')
      const content = { type: 'text', text: 'Knock knock.' }
      const joke = { role: 'assistant', content, model: 'm' }
      const result = await run(answersTo(asksOf(await run()), { name: null, joke }))
      expect(JSON.parse(String(textOf(result)))).toEqual({ name: null, joke })
    })

    it('I27: asks nothing that was not granted, and that is on the record', async () => {
      const { run, events } = start('test_sampling', { prompt: 'Hi' }, ['elicit'])
      expect(await run()).toMatchObject({
        ok: false,
        error: {
          code: 'tool_failed',
          message: expect.stringMatching(/not granted: request: sample/) as string,
        },
      })
      expect(events()).toEqual([
        { type: 'capability_refused', data: { call: 'call_1', capability: 'request: sample' } },
      ])
      const several = start('test_input_required_result_multiple_inputs', {}, ['elicit', 'roots'])
      expect(asksOf(await several.run())).toBeUndefined()
    })

    it('tells how far it is, and how severe what it says is', async () => {
      const { run, events } = start('test_tool_with_progress')
      await run()
      const logging = start('test_logging_tool')
      await logging.run()
      expect([...events(), ...logging.events()].map(({ data }) => data)).toEqual([
        { call: 'call_1', message: 'begun', progress: 0, total: 100 },
        { call: 'call_1', message: 'half done', progress: 50, total: 100 },
        { call: 'call_1', message: 'done', progress: 100, total: 100 },
        { call: 'call_1', message: 'One line', level: 'info' },
      ])
    })
  })
}
