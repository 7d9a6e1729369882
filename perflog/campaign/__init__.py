"""A campaign file in, trainings run, and a folder of logs out.

Campaigns: trainings that are run again and again, their logs kept in the layout that ``perflog extract`` reads.

A campaign is a list of jobs; the folder of its logs is all the state there is, so that it can be killed at any
moment and gone on with. A log counts when it is complete, whatever its process's exit status.
"""
