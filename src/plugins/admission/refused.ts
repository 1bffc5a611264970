import { IsolaError } from '#contracts/errors.ts'

/** What was sent cannot be installed; the message says what is wrong and what to do. */
export function refused(message: string, cause?: unknown): IsolaError {
  return new IsolaError('plugin_upload_invalid', message, { ...(cause !== undefined && { cause }) })
}

/** A name out of an upload, safe to quote: short, in one line, with everything unusual spelled out. */
export function quoted(name: string): string {
  const text = name.length > 80 ? `${name.slice(0, 79).toWellFormed()}…` : name.toWellFormed()
  return JSON.stringify(text).replace(
    /[^\P{C}\n]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  )
}
