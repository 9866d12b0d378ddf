"""Tickets from elsewhere. A file is read row by row (`file`, over `csv_rows` or `json_rows`, then `row`).

What is good is kept (`keep`): a service like the app's others, here because only imports need it.
"""
