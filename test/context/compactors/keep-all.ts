import type { Message } from '#contracts/message.ts'
import { textOf } from '../types.ts'
import type { CreateCompactor } from '../compactor-contract.ts'

/** Loses nothing: each old message goes behind a handle of its own, of which a kept list says what it begins with. */
export const createCompactor: CreateCompactor = () => {
  const handles: string[] = []
  return ({ messages, windowTokens, countTokens, keep }) => {
    if (countTokens(messages) <= windowTokens * 0.8) return { messages, isCompacted: false }
    const [system, ...rest] = messages
    const body = rest.filter((message) => message.role !== 'user' || !message.text.startsWith(mark))
    const shown = (from: number): readonly Message[] => [
      system!,
      { role: 'user', text: `${mark} ${handles.join(' ')}`, taint: ['context'] },
      ...body.slice(from),
    ]
    let from = 0
    while (from < body.length && countTokens(shown(from)) > windowTokens * 0.5) {
      do {
        handles.push(keep(textOf(body[from]!)))
        from += 1
      } while (body[from]?.role === 'tool')
    }
    return { messages: shown(from), isCompacted: true }
  }
}
const mark = 'Kept behind handles:'
