import * as z from 'zod'

/** The name of a principal: the owner of keys, sessions and limits. A publisher's key is named by the same rule. */
export const principalName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._@+-]{0,63}$/,
    'must be 1 to 64 lowercase letters, digits or . _ @ + -, and begin with a letter or digit',
  )
