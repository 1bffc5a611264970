import type { AgentResult } from '#contracts/agent.ts'

/** The text a reader has been sent so far. Each method returns what is new, `''` if nothing is. */
export interface SpokenText {
  /** A piece of a turn's message that begins `offset` characters into it. */
  readonly add: (turn: number, offset: number, text: string) => string
  /** The outcome's text, as far as no piece brought it. */
  readonly addFinal: (result: AgentResult) => string
}

/** As a result joins the messages of several turns. */
const betweenTurns = '\n\n'

/** Puts the messages of several turns together as one text, as a chat client shows it. */
export function createSpokenText(): SpokenText {
  let earlier = ''
  let current = ''
  let turn: number | undefined

  const say = (fresh: string): string => {
    if (fresh === '') return ''
    const prefix = current === '' && earlier !== '' ? betweenTurns : ''
    current += fresh
    return prefix + fresh
  }
  const startMessage = (next: number | undefined): void => {
    earlier = joined()
    current = ''
    turn = next
  }
  const joined = () => [earlier, current].filter((text) => text !== '').join(betweenTurns)

  return {
    add(from, offset, text) {
      // A finished message may be reported when the next one is under way.
      if (turn !== undefined && from < turn) return ''
      if (from !== turn) startMessage(from)
      return say(text.slice(Math.max(0, current.length - offset)))
    },
    addFinal({ state, result }) {
      const all = joined()
      const isSaid = [current, all].some((text) => text.trimEnd() === result.trimEnd())
      // A run that was stopped in the middle of a message keeps less than was sent.
      if (isSaid || (state === 'stopped' && all.startsWith(result))) return ''
      if (current !== '' && result.startsWith(current)) return say(result.slice(current.length))
      startMessage(undefined)
      return say(result)
    },
  }
}
