/** A text that is taken out wherever it is quoted or, as `whole`, only where it is all of a text. */
export type ForgottenText = string | { readonly whole: string }
