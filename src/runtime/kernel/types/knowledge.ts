/** The formats of a document. `pages`: texts by page, such as the command reads from a PDF. */
export const documentTypes = ['text', 'markdown', 'html', 'pages'] as const
