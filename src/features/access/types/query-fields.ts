import * as z from 'zod'

/** What somebody is called: the owner of keys, sessions and limits. Also what a key of a publisher is called. */
export const principalName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._@+-]{0,63}$/,
    'must be 1 to 64 lowercase letters, digits or . _ @ + -, and begin with a letter or digit',
  )
