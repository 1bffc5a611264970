import * as z from 'zod'

/** Where an image may be: a model server reads it, so no scheme of that machine's own. */
export const imageUrl = z
  .string()
  .regex(/^(https?:\/\/|data:image\/)./, 'must be an http(s) or a data:image/ URL')
