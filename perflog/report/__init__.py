"""An extraction in, a document out: tables by style, regions of a README, reports in Markdown and HTML,
the explanation of a log.
"""
