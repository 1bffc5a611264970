import { headOf } from '#contracts/cut.ts'
import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'

/** The error for an upload that cannot be installed; the message says what is wrong and what to do. */
export function refused(message: string, cause?: unknown): IsolaError {
  return new IsolaError('plugin_upload_invalid', message, defined({ cause }))
}

/** Makes a name from an upload safe to quote: short, in one line, with unusual characters spelled out. */
export function quoted(name: string): string {
  const whole = name.toWellFormed()
  const text = whole.length > 80 ? `${headOf(whole, 79)}…` : whole
  return JSON.stringify(text).replace(
    /[^\P{C}\n]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  )
}
