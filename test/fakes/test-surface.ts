import type { Question, SessionEntry, Asker } from '#runtime/session/types/session-entry.ts'

/** The reply to a message: an answer, or questions that come first. */
type Told = { readonly text: string } | { readonly run: string; readonly asks: readonly Question[] }

/** A surface with no route and no request: a text comes in, as over a channel, and a text or a question goes out. */
export function createTestSurface({ submitAs, converse }: SessionEntry, asker: Asker) {
  const forAnswers = (answers: Readonly<Record<string, unknown>>) => ({
    principal: asker.id,
    waitMs: 20_000,
    signal: new AbortController().signal,
    isCancelledByClose: false,
    keepAlive: () => undefined,
    listen: () => () => undefined,
    can: { elicitation: {} },
    mayApprove: true,
    given: () => answers,
    ask: async (view: { readonly id: string }, asks: readonly Question[]): Promise<Told> => ({
      run: view.id,
      asks,
    }),
    refuse: () => Promise.reject(new Error('It asks what nobody here can answer.')),
  })
  const told = (view: Told | { readonly state: string; readonly result?: { result: string } }) =>
    'state' in view ? { text: view.result?.result ?? view.state } : view
  return {
    say: async (session: string, text: string, key?: string): Promise<Told> => {
      const messages = [{ role: 'user', text, taint: ['user'] }] as const
      const ask = { session, messages, pauses: 'park', mayRaise: true } as const
      return told(
        await converse(forAnswers({}), { work: submitAs(asker, ask, { key, origin: 'test' }) }),
      )
    },
    answer: async (session: string, run: string, answers: Readonly<Record<string, unknown>>) =>
      told(await converse(forAnswers(answers), { session, run })),
  }
}
