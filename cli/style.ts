import picocolors from 'picocolors'
import { hasColour } from '../scripts/style.mjs'
import type { Env, Output } from './command.ts'

/**
 * Functions that colour text for one stream: `dim`, `yellow`, `cyan` and others. Without colour they return the text as
 * it is. Text of others goes through `shown` first: afterwards it would lose the colour.
 */
export const createStyle = (stream: Pick<Output, 'isTTY'>, env: Env) =>
  picocolors.createColors(hasColour(stream, env))
