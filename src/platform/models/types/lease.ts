/** The output cap of a model call in tokens, unless an agent sets one. */
export const defaultMaxOutputTokens = 4_096
